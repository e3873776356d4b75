import Foundation
import IsletBasics
import JSONText
import Testing

/// A small generator with a seed that a failing test prints.
struct Dice: RandomNumberGenerator {
    private var numbers: SplitMix64

    init(seed: UInt64) { numbers = SplitMix64(seed: seed) }

    mutating func next() -> UInt64 { numbers.next() }

    mutating func roll(_ sides: Int) -> Int { Int.random(in: 0..<sides, using: &self) }

    /// Returns a random document as text, with random white space and escapes.
    mutating func document(depth: Int = 4) -> String {
        let space = [" ", "", "\n", "", "\t "][roll(5)]
        switch roll(depth > 0 ? 8 : 5) {
        case 0: return space + ["null", "true", "false"][roll(3)]
        case 1, 2: return space + number()
        case 3, 4: return string() + space
        case 5: return "[" + (0..<roll(4)).map { _ in document(depth: depth - 1) }.joined(separator: ",") + space + "]"
        default:
            let members = (0..<roll(4)).map { index in
                // The index keeps keys unique, because Foundation accepts duplicates and the parser does not.
                "\"\(index)\(string().dropFirst())" + space + ":" + document(depth: depth - 1)
            }
            return "{" + space + members.joined(separator: ",") + "}"
        }
    }

    private mutating func number() -> String {
        let sign = roll(2) == 0 ? "-" : ""
        let whole = ["0", "7", "42", "900719925474099", "1000"][roll(5)]
        let fraction = ["", ".0", ".5", ".125", ".10"][roll(5)]
        return sign + whole + fraction + ["", "e3", "E-2", "e+0", "e10"][roll(5)]
    }

    private mutating func string() -> String {
        let pieces = [
            "a", "é", "漢", "😀", #"\n"#, #"\u00e9"#, #"\ud83d\ude00"#, #"\""#, #"\\"#, "/", #"\/"#, " ", #"\u0001"#,
        ]
        return "\"" + (0..<roll(6)).map { _ in pieces[roll(pieces.count)] }.joined() + "\""
    }

    /// Returns the bytes with one to three of them changed, removed or doubled.
    mutating func mutated(_ bytes: [UInt8]) -> [UInt8] {
        var bytes = bytes
        let alphabet = Array(#"{}[]",:\u0123456789.eE+-tfn /"#.utf8) + [0, 0x1F, 0x80, 0xC3, 0xED, 0xF4, 0xFF]
        for _ in 0...roll(3) where !bytes.isEmpty {
            let place = roll(bytes.count)
            switch roll(4) {
            case 0: bytes[place] ^= UInt8(1 << roll(8))
            case 1: bytes[place] = alphabet[roll(alphabet.count)]
            case 2: bytes.remove(at: place)
            default: bytes.insert(alphabet[roll(alphabet.count)], at: place)
            }
        }
        return bytes
    }
}

@Suite struct RandomDocumentTests {
    /// Converts Foundation's value.
    private static func foreign(_ value: Any) -> JSONValue? {
        switch value {
        case is NSNull: return .null
        case let text as String: return .string(text)
        case let number as NSNumber:
            if isBoolean(number) { return .bool(number.boolValue) }
            return JSONNumber(number.doubleValue).map(JSONValue.number)
        case let elements as [Any]: return .array(elements.compactMap(foreign))
        case let members as [String: Any]:
            var object = JSONObject()
            for (key, value) in members { object[key] = foreign(value) }
            return .object(object)
        default: return nil
        }
    }

    private static func isBoolean(_ number: NSNumber) -> Bool {
        String(cString: number.objCType) == "c"
    }

    /// Returns the value with every number as the nearest double or float, as other parsers have them.
    private static func rounded(_ value: JSONValue, toFloat: Bool = false) -> JSONValue {
        switch value {
        case .number(let number):
            let double = toFloat ? Double(Float(number.double)) : number.double
            return JSONNumber(double).map(JSONValue.number) ?? .null
        case .array(let elements): return .array(elements.map { rounded($0, toFloat: toFloat) })
        case .object(let object):
            var result = JSONObject()
            for (key, value) in object { result[key] = rounded(value, toFloat: toFloat) }
            return .object(result)
        case .null, .bool, .string: return value
        }
    }

    @Test(arguments: [1, 2, 3, 4, 5, 6, 7, 8] as [UInt64])
    func `random documents mean what Foundation says they mean`(seed: UInt64) throws {
        var dice = Dice(seed: seed)
        for round in 0..<100 {
            let text = dice.document()
            let value = try JSONValue(parsing: text)
            let parsed = try JSONSerialization.jsonObject(with: Data(text.utf8), options: .fragmentsAllowed)
            // JSONSerialization loses the last digits of some numbers. JSONDecoder below does not.
            let foundation = Self.foreign(parsed).map { Self.rounded($0, toFloat: true) }
            #expect(Self.rounded(value, toFloat: true) == foundation, "seed \(seed), round \(round): \(text)")
            let decoded = try JSONDecoder().decode(JSONValue.self, from: Data(text.utf8))
            #expect(Self.rounded(decoded) == Self.rounded(value), "seed \(seed), round \(round): \(text)")
            let encoded = try JSONEncoder().encode(value)
            #expect(
                Self.rounded(try JSONValue(parsing: encoded)) == Self.rounded(value), "seed \(seed), round \(round)")
        }
    }

    @Test(arguments: [11, 12, 13, 14] as [UInt64])
    func `random documents survive writing and have one canonical form`(seed: UInt64) throws {
        var dice = Dice(seed: seed)
        for round in 0..<100 {
            let value = try JSONValue(parsing: dice.document())
            let again = try JSONValue(parsing: value.bytes)
            #expect(again == value, "seed \(seed), round \(round)")
            #expect(again.bytes == value.bytes, "seed \(seed), round \(round)")
            #expect(again.hashValue == value.hashValue, "seed \(seed), round \(round)")
            let canonical = try JSONValue(parsing: value.canonicalBytes)
            #expect(canonical == value, "seed \(seed), round \(round)")
            #expect(canonical.canonicalBytes == value.canonicalBytes, "seed \(seed), round \(round)")
            #expect(try JSONValue(parsing: value.prettyText) == value, "seed \(seed), round \(round)")
            #expect(try value.decode(JSONValue.self).bytes == value.bytes, "seed \(seed), round \(round)")
        }
    }

    @Test(arguments: [21, 22, 23, 24] as [UInt64])
    func `a damaged document is refused, or accepted by Foundation too`(seed: UInt64) throws {
        var dice = Dice(seed: seed)
        for round in 0..<500 {
            let bytes = dice.mutated(Array(dice.document().utf8))
            let label: Comment =
                "seed \(seed), round \(round): \(String(decoding: bytes, as: UTF8.self).debugDescription)"
            let foundation = try? JSONSerialization.jsonObject(with: Data(bytes), options: .fragmentsAllowed)
            do throws(JSONSyntaxError) {
                let value = try JSONValue(parsing: bytes)
                #expect(try JSONValue(parsing: value.bytes) == value, label)
                // A number beyond a double's range is valid JSON that Foundation cannot hold.
                #expect(foundation != nil || value.bytes.contains(UInt8(ascii: "e")), label)
            } catch {
                #expect((0...bytes.count).contains(error.offset), label)
                // Foundation accepts any encoding, repeated keys and raw control characters. The parsers agree on the
                // rest.
                let lenient: [JSONSyntaxError.Code] = [.duplicateKey, .badUTF8, .controlCharacter, .badNumber]
                #expect(foundation == nil || lenient.contains(error.code), "\(label) \(error)")
            }
        }
    }
}
