import Foundation

/// The questions of `islet init` to a person.
struct InitQuestions {
    /// Returns the next line; `nil` at the end of the input.
    let read: () -> String?
    let say: (String) -> Void
    /// Checks the file of a key, so that a wrong one is asked for again.
    let check: (InitAnswers.AppleKey) throws(CommandError) -> Void

    static let attempts = 3

    func bundleID() throws(CommandError) -> String {
        try ask("1 of 3: the app's bundle id, such as com.acme.pizza", InitAnswers.bundleID)
    }

    func key() throws(CommandError) -> InitAnswers.Key {
        let question = """
            2 of 3: the key for APNs, of Apple's developer portal: the .p8 file, the team id, and sandbox (builds that \
            Xcode installs) or production (TestFlight, App Store)
              such as: AuthKey_ABC123DEFG.p8 XYZ987MNOP sandbox
              without an Apple account: simulator
            """
        return try ask(question) { (line: String) throws(CommandError) in
            let key = try InitAnswers.key(words: Self.fromHome(line))
            if case .apple(let key) = key { try check(key) }
            return key
        }
    }

    func kind() throws(CommandError) -> InitAnswers.Kind {
        let question = """
            3 of 3: the Swift name of the app's ActivityAttributes type, and the title of the alert with which a push \
            starts a card (no title: only the app starts one)
              such as: OrderTrackingAttributes Your order
            """
        return try ask(question, InitAnswers.kind(words:))
    }

    private func ask<Answer>(
        _ question: String, _ parse: (String) throws(CommandError) -> Answer
    ) throws(CommandError) -> Answer {
        say(question + "\n")
        for _ in 0..<Self.attempts {
            say("> ")
            guard let line = read() else { throw CommandError("there was no answer, so nothing was written") }
            do throws(CommandError) {
                return try parse(line.trimmingCharacters(in: .whitespacesAndNewlines))
            } catch {
                say("\(error)\n")
            }
        }
        throw CommandError("\(Self.attempts) answers could not be used, so nothing was written")
    }

    /// Returns a line with the home folder in place of `~/`, which no shell has expanded.
    private static func fromHome(_ line: String) -> String {
        guard line.hasPrefix("~/") else { return line }
        return FileManager.default.homeDirectoryForCurrentUser.path + line.dropFirst()
    }
}
