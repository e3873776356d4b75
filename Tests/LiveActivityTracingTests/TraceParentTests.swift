import LiveActivityTracing
import Testing

/// W3C Trace Context, section 3.2.
struct TraceParentTests {
    private static let text = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"

    @Test func `a place is read and written as it is`() throws {
        let place = try #require(TraceParent(Self.text))
        #expect(place.text == Self.text && place.isSampled)
        #expect(place.traceID == "4bf92f3577b34da6a3ce929d0e0e4736" && place.spanID == "00f067aa0ba902b7")
        #expect(TraceParent("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-02")?.isSampled == false)
        #expect(TraceParent("01-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-more")?.spanID == place.spanID)
        let small = TraceParent(trace: (0, 1), span: 2, isSampled: false)
        #expect(small.text == "00-00000000000000000000000000000001-0000000000000002-00")
    }

    @Test(arguments: [
        "", "00", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7", "ff-\(body)-01", "00-\(body)-01-more",
        "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
        "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
        "00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01", "0-\(body)-01", "00-\(body)-1",
        "00-4bf92f3577b34da6a3ce929d0e0e473-600f067aa0ba902b7-01",
        "00-+bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
    ])
    func `what is no place begins a trace of its own`(_ text: String) { #expect(TraceParent(text) == nil) }

    private static let body = "4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7"
}
