import JSONText
import Testing

@Suite struct MergePatchTests {
    /// RFC 7396 appendix A, for the cases in which both sides are objects.
    @Test(arguments: [
        (#"{"a":"b"}"#, #"{"a":"c"}"#, #"{"a":"c"}"#), (#"{"a":"b"}"#, #"{"b":"c"}"#, #"{"a":"b","b":"c"}"#),
        (#"{"a":"b"}"#, #"{"a":null}"#, "{}"), (#"{"a":"b","b":"c"}"#, #"{"a":null}"#, #"{"b":"c"}"#),
        (#"{"a":["b"]}"#, #"{"a":"c"}"#, #"{"a":"c"}"#), (#"{"a":"c"}"#, #"{"a":["b"]}"#, #"{"a":["b"]}"#),
        (#"{"a":{"b":"c"}}"#, #"{"a":{"b":"d","c":null}}"#, #"{"a":{"b":"d"}}"#),
        (#"{"a":[{"b":"c"}]}"#, #"{"a":[1]}"#, #"{"a":[1]}"#), (#"{"e":null}"#, #"{"a":1}"#, #"{"e":null,"a":1}"#),
        ("{}", #"{"a":{"bb":{"ccc":null}}}"#, #"{"a":{"bb":{}}}"#),
        (#"{"a":1.50,"b":1}"#, #"{"b":[null,{"c":null}]}"#, #"{"a":1.50,"b":[null,{"c":null}]}"#),
    ])
    func `a merge patch is applied as RFC 7396 says`(old: String, patch: String, new: String) throws {
        let (old, patch) = (try JSONValue(parsing: old).object, try JSONValue(parsing: patch).object)
        #expect(try #require(old).merged(with: try #require(patch)).description == new)
    }
}
