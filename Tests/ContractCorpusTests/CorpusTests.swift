import Foundation
import JSONText
import LiveActivityCore
import TestSupport
import Testing

/// Contracts that `islet-contract` made from the sources in `Corpus` and `Examples`, compared with the compiler's
/// decoding of the same sources.
struct CorpusTests {
    private static let values = 300
    private static let seed: UInt64 = 20_261_122

    @Test(arguments: Corpus.all)
    func `a contract out of source takes what the compiled type decodes, and nothing else`(type: CorpusType) throws {
        let document = try type.document()
        #expect(document.object?["attributesType"] == .string(type.name))
        for half in type.halves {
            let schema = try #require(document.object?[half.member])
            let contracts = try Contracts(schema)
            let samples = try half.samples.map { try JSONValue(parsing: $0) }
            for sample in samples {
                #expect(half.decoded(sample) != nil, "\(type.name): the sample does not decode: \(sample)")
                #expect(throws: Never.self) { try contracts.strict.encodedState(sample.object ?? [:], from: .given) }
            }
            var random = RandomJSON(schema, seed: Self.seed)
            var mutation = Mutation(seed: Self.seed)
            var counts = (taken: 0, refused: 0)
            for number in 0..<Self.values {
                let whole = number.isMultiple(of: 3) ? mutation.dice.pick(samples) : random.value()
                if !number.isMultiple(of: 3) { #expect(half.decoded(whole) != nil, "\(type.name): \(whole)") }
                let given = mutation.mutated(whole)
                guard let object = given.object, !Odd.isOdd(given) else { continue }
                let note = "\(type.name) \(half.member) \(number), seed \(Self.seed): \(given.text)"
                let isTaken = check(object, half.decoded(given), half, contracts, note)
                if isTaken { counts.taken += 1 } else { counts.refused += 1 }
            }
            #expect(counts.taken > Self.values / 20, "\(counts), \(type.name) \(half.member)")
            let canBeWrong = schema.object?["properties"]?.object?.isEmpty != true
            #expect(!canBeWrong || counts.refused > Self.values / 50, "\(counts), \(type.name) \(half.member)")
        }
    }

    private func check(
        _ object: JSONObject, _ held: JSONValue?, _ half: CorpusType.Half, _ contracts: Contracts, _ note: String
    ) -> Bool {
        let strict = Result { () throws(ContractViolation) in
            try contracts.strict.encodedState(object, from: .given)
        }
        do throws(ContractViolation) {
            let sent = try contracts.lenient.encodedState(object, from: .given)
            #expect(held != nil || contracts.hasDates, "taken, but the type does not decode it: \(note)")
            let received = half.decoded(.object(sent))
            #expect(received != nil, "what is sent does not decode: \(note)")
            for report in [received, held].compactMap({ $0?.object }) {
                #expect(
                    contracts.strict.heldState(report) == contracts.strict.heldState(sent),
                    "a phone would report \(report), not \(sent), from \(note)")
            }
            switch strict {
            case .success(let same): #expect(same == sent, "\(note)")
            // Stricter than the decoder on purpose: the contract refuses a member that the type does not have.
            case .failure(let violation):
                let isUnknown = violation.problems.allSatisfy {
                    $0.expected.hasPrefix("one of the members") || $0.expected == "exactly 1 member"
                }
                #expect(isUnknown, "\(violation.problems), \(note)")
            }
            return true
        } catch {
            #expect(held == nil, "refused, but the type decodes it: \(error.problems), \(note)")
            #expect((try? strict.get()) == nil, "\(note)")
            return false
        }
    }

    @Test func `every contract of the corpus has its type, and every type its contract`() throws {
        let files = try FileManager.default.contentsOfDirectory(atPath: CorpusType.folder.path)
        #expect(Set(files) == Set(Corpus.all.map { "\($0.name).json" }))
        #expect(Corpus.all.count >= 65)
        for type in Corpus.all { _ = try Contract(type.document()) }
    }
}

/// A contract as it is, and one that ignores unknown members as the decoder does. In both, dates are seconds since
/// 2001, as for the decoder.
private struct Contracts {
    let strict: Contract
    let lenient: Contract
    let hasDates: Bool

    init(_ schema: JSONValue) throws {
        let plain = Self.changed(schema, isLenient: false)
        hasDates = plain != schema
        strict = try Contract(["attributesType": "A", "contentState": plain])
        lenient = try Contract(["attributesType": "A", "contentState": Self.changed(schema, isLenient: true)])
    }

    private static func changed(_ value: JSONValue, isLenient: Bool) -> JSONValue {
        switch value {
        case .object(let object):
            var changed: JSONObject = [:]
            for (key, value) in object {
                if isLenient, key == "additionalProperties" && value == false || key == "maxProperties" { continue }
                let isDate = key == "x-swift" && value == "Date"
                changed[key] = isDate ? ["type": "Date", "input": "swift"] : Self.changed(value, isLenient: isLenient)
            }
            return .object(changed)
        case .array(let elements): return .array(elements.map { Self.changed($0, isLenient: isLenient) })
        case .null, .bool, .number, .string: return value
        }
    }
}

/// Texts that Foundation reads, as some type, differently from the systems on phones. Nothing is compared where one of
/// them occurs (see `docs/contracts.md`, "Where Swift and a contract differ").
private enum Odd {
    static func isOdd(_ value: JSONValue) -> Bool {
        switch value {
        case .string(let text): isOddID(text) || isOddLink(text) || isOddBase64(text)
        case .array(let elements): elements.contains(where: isOdd)
        case .object(let object): object.contains { isOdd($0.value) }
        // JSON allows it. Foundation does not, and Islet sends 0.
        case .number(let number): number.text.drop { $0 == "-" }.lowercased().hasPrefix("0e")
        case .null, .bool: false
        }
    }

    private static func isOddID(_ text: String) -> Bool {
        UUID(uuidString: text).map { $0.uuidString != text.uppercased() } ?? false
    }

    private static func isOddLink(_ text: String) -> Bool {
        URL(string: text) != nil && URL(string: text, encodingInvalidCharacters: false) == nil
    }

    private static func isOddBase64(_ text: String) -> Bool {
        Data(base64Encoded: text) != nil
            && (!text.count.isMultiple(of: 4) || !["", "=", "=="].contains(text.drop { $0 != "=" }))
    }
}
