import Dispatch
import Foundation
import StorageSQL
import StorageSQLite

/// A store in a temporary folder, for runs whose data is thrown away.
enum TrialStore {
    /// Runs the body with a new store, and removes its folder afterwards.
    ///
    /// Files are opened and removed on a thread that may block.
    static func with<Value>(_ body: (SQLStore) async throws -> Value) async throws -> Value {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("islet-trial-\(UUID().uuidString)")
        let store: SQLStore
        do {
            store = try await blocking {
                try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
                return try SQLStore(path: folder.appendingPathComponent("trial.db").path, access: .trial)
            }
        } catch {
            try? await blocking { try FileManager.default.removeItem(at: folder) }
            throw error
        }
        let result: Result<Value, any Error>
        do { result = .success(try await body(store)) } catch { result = .failure(error) }
        try? await blocking {
            store.close()
            try FileManager.default.removeItem(at: folder)
        }
        return try result.get()
    }

    private static func blocking<Value: Sendable>(_ work: @escaping @Sendable () throws -> Value) async throws -> Value
    {
        try await withCheckedThrowingContinuation { continuation in
            DispatchQueue.global(qos: .utility).async { continuation.resume(with: Result { try work() }) }
        }
    }
}
