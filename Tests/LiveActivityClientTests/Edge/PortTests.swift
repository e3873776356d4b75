import Foundation
import LiveActivityAPI
import LiveActivityClient
import Testing

struct PortTests {
    @Test func `a file is written as a whole, read back, and for its owner alone`() throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("islet-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }
        let file = folder.appendingPathComponent("a/memory.json")
        let storage = FileStorage(file)
        #expect(try storage.load() == nil)
        try storage.save(Data("one".utf8))
        try storage.save(Data("two".utf8))
        #expect(try storage.load() == Data("two".utf8))
        let mode = try FileManager.default.attributesOfItem(atPath: file.path)[.posixPermissions] as? Int
        #expect(mode == 0o600)
    }

    @Test func `a property that lags behind its sequence does not undo it, and one that is ahead counts`() {
        let (one, two, three) = (PhoneBench.token(1), PhoneBench.token(2), PhoneBench.token(3))
        #expect(TokenReading().newest(one) == one && TokenReading().newest(nil) == nil)
        let behind = TokenReading(told: two, besides: one)
        #expect(behind.newest(one) == two && behind.newest(nil) == two)
        #expect(behind.newest(two) == two && behind.newest(three) == three)
        #expect(TokenReading(told: one, besides: nil).newest(nil) == one)
    }

    @Test(arguments: [("development", "sandbox"), ("production", "production"), ("other", nil), (nil, nil)])
    func `the environment is that of the embedded profile`(value: String?, environment: String?) {
        let entry = value.map { "<key>aps-environment</key><string>\($0)</string>" } ?? ""
        let list = """
            <?xml version="1.0" encoding="UTF-8"?><plist version="1.0"><dict><key>Entitlements</key>\
            <dict>\(entry)</dict></dict></plist>
            """
        let profile = Data([0x30, 0x82, 0xff]) + Data(list.utf8) + Data([0x00, 0xfe])
        #expect(APNSEnvironmentFinder.environment(ofProfile: profile)?.rawValue == environment)
    }

    @Test func `without a profile the app is from the store`() {
        #expect(APNSEnvironmentFinder.environment() == .production)
    }

    @Test func `a request shows neither its body nor its credential`() {
        let request = ClientRequest(method: "PUT", path: "/v1/devices/a", body: Data("tok".utf8), credential: "s3cret")
        var text = ""
        dump(request, to: &text)
        #expect(!text.contains("s3cret") && !"\(request)".contains("s3cret") && !text.contains("tok"))
    }
}
