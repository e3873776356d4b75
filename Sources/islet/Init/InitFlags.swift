import APNSModel
import ArgumentParser

/// Flags that answer the questions of `islet init`.
struct InitFlags: ParsableArguments {
    @Option(help: "The app's bundle id, as in Xcode.") var bundleID: String?
    @Option(help: "The .p8 file of Apple's developer portal.", completion: .file()) var keyFile: String?
    @Option(help: "The key's id; without it, that of the file's name, such as AuthKey_ABC123DEFG.p8.")
    var keyID: String?
    @Option(help: "The team's id, from \"Membership details\".") var teamID: String?
    @Option(help: "sandbox: builds that Xcode installs. production: TestFlight and the App Store.")
    var environment: String?
    @Flag(help: "Pushes go to `islet simulate`: no Apple account is needed. All other answers have defaults.")
    var simulator = false
    @Option(help: "The Swift name of the app's ActivityAttributes type.") var attributesType: String?
    @Option(help: "The type's name in the HTTP API; without it, that of the Swift type without `Attributes`.")
    var type: String?
    @Option(help: "The title of the alert with which a push starts a card.") var startAlert: String?
    @Option(help: "The body of that alert.") var startAlertBody: String?
    @Flag(help: "Only the app starts a card, never a push.") var appOnly = false
    @Option(help: "The address of the HTTP API.") var listen = ConfigurationKey.Default.listen
    @Option(help: "The database: sqlite:path, or postgres://user@host/database.")
    var storage = ConfigurationKey.Default.storage

    func validate() throws {
        do throws(CommandError) {
            try checkFlags()
        } catch {
            throw ValidationError(error.description)
        }
    }

    /// Checks each flag by itself, and that no two contradict each other.
    private func checkFlags() throws(CommandError) {
        if simulator, keyFile != nil || keyID != nil || teamID != nil || environment != nil {
            throw CommandError("--simulator has a key of its own: leave out the other flags of the key")
        }
        if appOnly, startAlert != nil || startAlertBody != nil {
            throw CommandError("--app-only starts nothing by push: leave out --start-alert and --start-alert-body")
        }
        if startAlert == nil, startAlertBody != nil { throw CommandError("--start-alert-body goes with --start-alert") }
        if let bundleID { _ = try InitAnswers.bundleID(bundleID) }
        if missing(.key).isEmpty { _ = try key() }
        if missing(.kind).isEmpty { _ = try kind() }
        do throws(ConfigurationError) {
            _ = try SettingsBuilder(file: "", folder: "", environment: [:]).address(listen, "/listen")
        } catch {
            throw CommandError("--listen: \(error.problem)")
        }
        try checkStorage()
    }

    private func checkStorage() throws(CommandError) {
        guard !storage.contains(where: \.isNewline) else { throw CommandError("--storage is one line") }
        // `ps` shows it, and the configuration may be readable by the server's group.
        let start = storage.firstIndex(of: "@") ?? storage.startIndex
        let user = storage[..<start].split(separator: "/").last ?? ""
        guard storage.hasPrefix("sqlite:") || !user.contains(":") && !storage.contains("password=") else {
            throw CommandError("--storage without its password: put it into ~/.pgpass or the variable PGPASSWORD")
        }
    }

    // MARK: - Questions

    enum Question: CaseIterable {
        case app, key, kind
    }

    /// Returns the flags that a question still needs.
    func missing(_ question: Question) -> [String] {
        switch question {
        case .app: return bundleID == nil && !simulator ? ["--bundle-id"] : []
        case .key:
            guard !simulator else { return [] }
            let isNamed = keyID != nil || keyFile.map { InitAnswers.keyID(ofFile: $0) != nil } ?? true
            return [
                ("--key-file", keyFile != nil), ("--key-id", isNamed), ("--team-id", teamID != nil),
                ("--environment", environment != nil),
            ].filter { !$0.1 }.map(\.0)
        case .kind:
            if simulator, attributesType == nil, type == nil, startAlert == nil, !appOnly { return [] }
            return [
                ("--attributes-type", attributesType != nil),
                ("--start-alert or --app-only", startAlert != nil || appOnly),
            ].filter { !$0.1 }.map(\.0)
        }
    }

    /// Returns `true` if no flag of a question is given, so that a person can be asked.
    func isOpen(_ question: Question) -> Bool {
        switch question {
        case .app: bundleID == nil && !simulator
        case .key: !simulator && keyFile == nil && keyID == nil && teamID == nil && environment == nil
        case .kind: !simulator && attributesType == nil && type == nil && startAlert == nil && !appOnly
        }
    }

    /// Checks that everything is given that nobody can be asked for.
    ///
    /// - Parameter isTerminal: `true` if a person can be asked.
    func checkComplete(isTerminal: Bool) throws {
        let lacking = Question.allCases.filter { !isTerminal || !isOpen($0) }.flatMap(missing)
        guard !lacking.isEmpty else { return }
        let reason = isTerminal ? "" : " (standard input is no terminal, so nothing can be asked)"
        let advice = simulator ? "" : "; without an Apple account: --simulator, or `islet serve --dev`"
        throw ValidationError("give \(lacking.joined(separator: ", "))\(reason)\(advice)")
    }

    // MARK: - Answers

    /// Returns all answers: those of the flags, and those of a person to the other questions.
    func answers(asking questions: InitQuestions) throws(CommandError) -> InitAnswers {
        var answers = InitAnswers.example
        answers.listen = listen
        answers.storage = storage
        if isOpen(.app) {
            answers.bundleID = try questions.bundleID()
        } else if let bundleID {
            answers.bundleID = bundleID
        }
        answers.key = isOpen(.key) ? try questions.key() : try key()
        if isOpen(.kind) {
            answers.kind = try questions.kind()
        } else if attributesType != nil {
            answers.kind = try kind()
        }
        return answers
    }

    private func key() throws(CommandError) -> InitAnswers.Key {
        guard !simulator, let keyFile, let teamID, let environment else { return .simulator }
        return .apple(
            try InitAnswers.appleKey(file: keyFile, keyID: keyID, teamID: teamID, environment: environment))
    }

    private func kind() throws(CommandError) -> InitAnswers.Kind {
        guard let attributesType else { return InitAnswers.example.kind }
        return try InitAnswers.kind(
            type: type, attributesType: attributesType,
            startAlert: startAlert.map { InitAnswers.StartAlert(title: $0, body: startAlertBody) })
    }
}
