import Testing

@testable import LiveActivityServer

struct NodeDoorTests {
    private static let address = "https://islet-1.internal:8090"

    @Test(arguments: ["/", "/v1/activities/order-1?limit=10", "/v1/activities/a%2Fb%20c", "//v1", "/a?b=c&d=%C3%A4"])
    func `a path is passed on as it is`(_ target: String) {
        #expect(NodeDoor.url(of: target, at: Self.address) == Self.address + target)
    }

    @Test(arguments: [
        "@evil.example/x", ":99/", ".evil.example/", "", "*", "http://evil.example/", "evil.example:443", "/a#b",
        "/a b",
        "/ä", "/%", "/a|b",
    ])
    func `a target that names another server or would change is refused`(_ target: String) {
        #expect(NodeDoor.url(of: target, at: Self.address) == nil)
    }
}
