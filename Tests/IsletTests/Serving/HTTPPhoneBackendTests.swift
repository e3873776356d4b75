import APNSModel
import JSONText
import Testing

@testable import APNSSimulator
@testable import islet

struct HTTPPhoneBackendTests {
    @Test func `a phone's call goes out as it is, and its answer comes back whatever it is`() async throws {
        for status in [200, 409, 503] {
            try await Answering.with(status, #"{"activities":[]}"#) { answering, address in
                let backend = HTTPPhoneBackend(islet: JSONCaller(address) { "the-key" })
                let phone = try #require(PhoneID("alice:1"))
                let body = #"{"user":"alice"}"#
                let answer = try await backend.call(
                    phone,
                    PhoneRequest(
                        method: "PUT", path: "/v1/devices/alice%3A1", body: Array(body.utf8), credential: nil,
                        proof: nil, person: "alice"))
                #expect(answer.status == status && answer.body == Array(#"{"activities":[]}"#.utf8))
                let gone = PhoneRequest(
                    method: "DELETE", path: "/v1/devices/alice%3A1", body: nil, credential: "of-the-phone", proof: nil,
                    person: nil)
                _ = try await backend.call(phone, gone)
                #expect(
                    answering.calls.map(\.line) == [
                        "PUT /v1/devices/alice%3A1", "DELETE /v1/devices/alice%3A1",
                    ])
                #expect(answering.calls[0].body == body)
                #expect(answering.calls.map(\.authorization) == ["Bearer the-key", "Bearer of-the-phone"])
            }
        }
    }

    @Test func `a request shows neither its body nor its credential`() {
        let request = PhoneRequest(
            method: "PUT", path: "/p", body: Array("tok".utf8), credential: nil, proof: "s3cret", person: "alice")
        var text = ""
        dump(request, to: &text)
        #expect(!(text + "\(request)").contains("s3cret") && !text.contains("tok"))
    }
}
