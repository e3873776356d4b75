import EmbeddedIslet
import LiveActivityStorage
import StorageSQL
import StorageSQLite

extension SettingsBuilder {
    /// Returns the source of the ring of keys.
    ///
    /// A source that the configuration names must exist and be a ring. Otherwise a problem is recorded and the result
    /// is `nil`.
    func tokenKeys(
        _ given: ConfigurationFile.TokenKeys?, _ place: String, database: DatabaseLocation?
    ) -> TokenKeySource? {
        switch (given?.file, given?.environment) {
        case (nil, nil):
            guard let database else { return nil }
            guard let path = database.path else {
                problems.note(
                    problem(
                        place,
                        "missing: with PostgreSQL, say where the keys are that seal push tokens. `islet keys new-ring` "
                            + "prints a ring; every server of the database needs the same"))
                return nil
            }
            return .beside(path)
        case (let path?, nil):
            // The message does not quote the path: it may be the ring itself.
            guard !path.contains("{"), !path.contains(where: \.isNewline) else {
                problems.note(problem("\(place)/file", "give the path of the ring's file, not its text"))
                return nil
            }
            let source = TokenKeySource.file(resolve(path), isMade: false)
            return note("\(place)/file") { () throws(TokenKeyProblem) in
                guard try TokenKeyFile.ring(at: resolve(path)) != nil else {
                    throw .unreadable(
                        place: path, detail: "there is no such file; `islet keys new-ring` prints what to put there")
                }
                return source
            }
        case (nil, let name?):
            guard Self.isVariable(name) else {
                problems.note(
                    problem("\(place)/environment", "give the name of an environment variable, not the keys themselves")
                )
                return nil
            }
            guard let text = environment[name], !text.isEmpty else {
                problems.note(problem("\(place)/environment", "the environment variable \(name) is not set"))
                return nil
            }
            return note("\(place)/environment") { () throws(TokenKeyProblem) in
                .given(try TokenKeyRing(parsing: text, place: "of the variable \(name)"), name: name)
            }
        case (_?, _?):
            problems.note(problem(place, "give the ring either as file or as environment"))
            return nil
        }
    }

    private func note(
        _ pointer: String, _ make: () throws(TokenKeyProblem) -> TokenKeySource
    ) -> TokenKeySource? {
        do throws(TokenKeyProblem) {
            return try make()
        } catch {
            problems.note(problem(pointer, error.description))
            return nil
        }
    }
}
