import APNSModel
import HTTPTypes
import JSONText
import LoopbackServer
import Testing

@testable import APNSSimulator
@testable import islet

struct HTTPPhoneBackendTests {
    @Test func `a phone's call goes out as it is, and its answer comes back whatever it is`() async throws {
        for status in [200, 409, 503] {
            let nothing = #"{"activities":[]}"#
            try await withLoopbackServer({ _ in httpAnswer(.init(code: status), nothing) }) { address, asked in
                let backend = HTTPPhoneBackend(islet: JSONCaller(address) { "the-key" })
                let phone = try #require(PhoneID("alice:1"))
                let body = #"{"user":"alice"}"#
                let answer = try await backend.call(
                    phone,
                    PhoneRequest(
                        method: "PUT", path: "/v1/devices/alice%3A1", body: Array(body.utf8), credential: nil,
                        proof: nil, person: "alice"))
                #expect(answer.status == status && answer.body == Array(nothing.utf8))
                let gone = PhoneRequest(
                    method: "DELETE", path: "/v1/devices/alice%3A1", body: nil, credential: "of-the-phone", proof: nil,
                    person: nil)
                _ = try await backend.call(phone, gone)
                #expect(
                    asked().map(\.line) == [
                        "PUT /v1/devices/alice%3A1", "DELETE /v1/devices/alice%3A1",
                    ])
                #expect(asked()[0].text == body)
                #expect(asked().map(\.authorization) == ["Bearer the-key", "Bearer of-the-phone"])
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
