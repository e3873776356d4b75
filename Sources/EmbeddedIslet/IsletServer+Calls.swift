public import APNSModel
import LiveActivityCore
import LiveActivityServer
import LiveActivityStorage
import StorageSQL

// Calls of the process that runs the server.
extension IsletServer {
    /// Requests that the providers compute again what a person should see.
    ///
    /// The work runs soon, in the background, and once however often it was requested. The request is durable when the
    /// call returns.
    ///
    /// - Parameters:
    ///   - user: Id of the person.
    ///   - app: Bundle ID of the app.
    ///   - type: Activity type to compute. With `nil`, every type that has a provider.
    /// - Returns: Number of types to compute; 0 for a person without a device.
    /// - Throws: ``Failure`` for an unknown app, a type without a provider, an invalid id, or a failing database.
    @discardableResult
    public func refresh(_ user: String, of app: BundleID, type: String? = nil) async throws -> Int {
        guard let settings = parts.apps.first(where: { $0.bundleID == app }) else {
            throw Failure("there is no app \(app)")
        }
        if let type, !settings.providedTypes.contains(type) { throw Failure("`\(type)` has no provider") }
        let id: UserID
        do throws(ForeignIDError) { id = try UserID(user) } catch { throw Failure("\(error)") }
        let command = AskRefresh(
            app: app, users: [id], types: type.map { [$0] } ?? settings.providedTypes, pace: .prompt,
            now: parts.time.wall())
        do throws(StorageError) {
            guard case .success(let reply) = try await store.commit(command) else { return 0 }
            return reply.asked
        } catch {
            throw Failure("\(error)")
        }
    }

    /// Creates a key for the HTTP API and returns its text. The key is valid until it is revoked.
    ///
    /// This call is the only time that the text is available, because the database keeps a hash of it.
    ///
    /// - Throws: ``Failure`` for an app that this server does not serve, or for a failing database.
    public func makeKey(for app: BundleID, scope: Scope) async throws -> String {
        guard parts.apps.contains(where: { $0.bundleID == app }) else { throw Failure("there is no app \(app)") }
        let wanted: APIKeyRecord.Scope =
            switch scope {
            case .backend: .backend
            case .device: .device
            case .read: .read
            }
        var generator = SystemRandomNumberGenerator()
        let (key, record) = APIKey.make(app: app, scope: wanted, at: parts.time.wall(), using: &generator)
        do throws(StorageError) {
            try await store.insertKey(record)
        } catch {
            throw Failure("\(error)")
        }
        return key.text
    }
}
