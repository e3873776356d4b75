import APNSSimulator
import IsletBasics
import JSONText
import Testing

/// Tokens that are computed, not stored in a list.
struct CrowdTokensTests {
    /// Tokens that another program computed from the description.
    static let known: [(CrowdTokens, Int, String)] = [
        (
            CrowdTokens(crowd: "c1", kind: .update), 0,
            "700afb3e1958ccdb000000000000000071ae7dd4ad83e6ebcd7be79456b0f168"
        ),
        (
            CrowdTokens(crowd: "c1", kind: .pushToStart), 999_999,
            "04f50c334efdfd5e00000000000f423f205d6061ea4e06cc26529e5c871a3368"
        ),
        (
            CrowdTokens(crowd: "c1", kind: .device), 7,
            "1b462079012c705f0000000000000007fef39f99e84fdc71c86cdb875f0bca69"
        ),
    ]

    @Test(arguments: known.indices)
    func `a token is what its description says`(index: Int) {
        let (tokens, member, hex) = Self.known[index]
        #expect(tokens.hex(of: member) == hex)
        #expect(hex.hasPrefix(tokens.prefix))
    }

    @Test(arguments: 0..<100)
    func `a token names its member, and with a changed digit nobody`(seed: UInt64) {
        print("seed \(seed)")
        var dice = SplitMix64(seed: seed)
        let kind = CrowdTokens.Kind.allCases[Int(seed) % 3]
        let tokens = CrowdTokens(crowd: "crowd-\(dice.next())", kind: kind)
        let member = Int.random(in: 0..<1_000_000, using: &dice)
        let hex = tokens.hex(of: member)
        #expect(tokens.member(of: hex) == member)
        #expect(CrowdTokens(crowd: "other", kind: kind).member(of: hex) == nil)
        var digits = Array(hex)
        let place = Int.random(in: 0..<64, using: &dice)
        digits[place] = digits[place] == "0" ? "1" : "0"
        #expect(tokens.member(of: String(digits)) == nil)
        #expect(tokens.member(of: String(hex.dropLast())) == nil)
        #expect(tokens.member(of: "g" + hex.dropFirst()) == nil)
    }

    @Test
    func `equal content states have equal digests`() throws {
        let one: JSONObject = ["step": "cooking", "eta": 5]
        let same = try #require(JSONValue(parsing: #"{"eta": 5.0, "step":"cooking"}"#).object)
        let other = try #require(JSONValue(parsing: #"{"eta": 6, "step":"cooking"}"#).object)
        #expect(ContentDigest(one) == ContentDigest(same))
        #expect(ContentDigest(one) != ContentDigest(other))
        // The first bytes of `printf '{"eta":5,"step":"cooking"}' | sha256sum`.
        #expect(ContentDigest(one).description == "be4768e7b472cb52")
    }
}
