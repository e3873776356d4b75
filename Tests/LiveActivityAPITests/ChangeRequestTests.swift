import JSONText
import LiveActivityAPI
import Testing

@Suite struct ChangeRequestTests {
    @Test(arguments: [
        #"{"add":["a"],"remove":["b"]}"#, #"{"remove":[]}"#, #"{"replace":["a","b"]}"#,
        #"{"replace":{"session":"s","users":["a"],"last":true}}"#, #"{"replace":{"session":"s","users":[]}}"#,
    ])
    func `an audience survives a round trip`(text: String) throws {
        let request = try JSONValue(parsing: text).decode(AudienceRequest.self)
        #expect(try JSONValue(encoding: request).text == text)
    }

    @Test(arguments: [
        ("{}", "expected `add`, `remove` or `replace`, given object"),
        (#"{"replace":[],"add":[]}"#, "/replace: expected either `add` or `replace`, not both, given array"),
        (#"{"replace":[],"remove":[]}"#, "/replace: expected either `remove` or `replace`, not both, given array"),
    ])
    func `an audience that cannot be meant is refused`(text: String, words: String) throws {
        let value = try JSONValue(parsing: text)
        let error = #expect(throws: JSONDecodingError.self) { _ = try value.decode(AudienceRequest.self) }
        #expect(error?.description.hasSuffix(words) == true, "\(error?.description ?? "")")
    }

    @Test func `a patch keeps the nulls of its state`() throws {
        let text = #"{"state":{"a":null,"b":{"c":null}},"relevance":1,"staleAfter":"300s","sequence":7}"#
        let request = try JSONValue(parsing: text).decode(PatchRequest.self)
        #expect(request.state?["a"] == .null && request.sequence == 7)
        #expect(try JSONValue(encoding: request).text == text)
    }

    @Test func `a line of a batch survives a round trip`() throws {
        let text = #"{"method":"PUT","path":"/v1/a?b=c","body":{"x":1.50},"idempotencyKey":"k","ifMatch":"*"}"#
        #expect(try JSONValue(encoding: JSONValue(parsing: text).decode(BatchLine.self)).text == text)
        let answer = #"{"line":3,"status":200,"replayed":true,"body":{}}"#
        #expect(try JSONValue(encoding: JSONValue(parsing: answer).decode(LineAnswer.self)).text == answer)
    }
}
