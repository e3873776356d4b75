import APNSModel
import IsletBasics
import LiveActivityServer
import LiveActivityStorage
import Testing

enum BundleIDs {
    static let pizza = BundleID("com.acme.pizza")
    static let gone = BundleID("com.acme.gone")
}

@Suite struct KeyTests {
    private static func make(_ seed: UInt64) throws -> (key: APIKey, record: APIKeyRecord) {
        var dice = SplitMix64(seed: seed)
        let app = try #require(BundleIDs.pizza)
        return APIKey.make(app: app, scope: .device, at: UnixTime(seconds: 1), using: &dice)
    }

    @Test func `a key has its form, reads back, and proves itself`() throws {
        for seed in 0..<200 as Range<UInt64> {
            let (key, record) = try Self.make(seed)
            #expect(key.text.utf8.count == 62)
            #expect(try #require(APIKey(key.text)) == key)
            #expect(record.id == key.id)
            #expect(record.secretHash.count == 32)
            #expect(key.isProven(by: record))
        }
    }

    @Test func `another secret, another record and no record prove nothing`() throws {
        let (key, record) = try Self.make(1)
        let (other, otherRecord) = try Self.make(2)
        #expect(!other.isProven(by: record))
        #expect(!key.isProven(by: otherRecord))
        #expect(!key.isProven(by: nil))
        var cut = record
        cut.secretHash = []
        #expect(!key.isProven(by: cut))
        cut.secretHash = Array(record.secretHash.dropLast())
        #expect(!key.isProven(by: cut))
    }

    @Test(arguments: ["", "islet_", "islet_abc_def", "islet_abcdefghijkl_", "hello"])
    func `a text of another form is no key`(text: String) {
        #expect(APIKey(text) == nil)
    }

    @Test func `a change of any character makes another key or none`() throws {
        let (key, record) = try Self.make(3)
        for index in key.text.indices {
            var text = key.text
            text.replaceSubrange(index...index, with: text[index] == "A" ? "B" : "A")
            let changed = APIKey(text)
            #expect(changed == nil || changed?.id != key.id || changed?.isProven(by: record) == false)
        }
    }

    @Test func `printing a key shows its public half only`() throws {
        let (key, _) = try Self.make(4)
        let secret = String(key.text.suffix(43))
        var dumped = ""
        dump(key, to: &dumped)
        for text in ["\(key)", String(reflecting: key), dumped] {
            #expect(!text.contains(secret) && !text.contains(secret.prefix(8)))
        }
    }
}
