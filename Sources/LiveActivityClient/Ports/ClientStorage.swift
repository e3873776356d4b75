public import Foundation

#if canImport(Security)
    internal import Security
#endif

/// Keeps what the client must not forget between launches.
public protocol ClientStorage: Sendable {
    /// What was saved last; `nil` when nothing ever was.
    ///
    /// - Throws: When it is there and cannot be read now: before the first unlock after a restart. The client waits.
    func load() throws -> Data?
    /// Replaces what is kept, all or nothing.
    func save(_ data: Data) throws
}

/// A file that can be read while the phone is locked, and that no backup carries to another phone.
public struct FileStorage: ClientStorage {
    private let file: URL

    /// A file of your own choice.
    ///
    /// - Parameter file: Where; its folder is made when it is missing.
    public init(_ file: URL) {
        self.file = file
    }

    /// A file of this name in the app's folder for such things.
    public static func standard(_ name: String = "islet-client.json") -> FileStorage {
        let folders = FileManager.default.urls(for: .applicationSupportDirectory, in: .userDomainMask)
        return FileStorage((folders.first ?? FileManager.default.temporaryDirectory).appendingPathComponent(name))
    }

    /// The file's content; `nil` when there is no file.
    public func load() throws -> Data? {
        guard FileManager.default.fileExists(atPath: file.path) else { return nil }
        return try Data(contentsOf: file)
    }

    /// Writes the file beside the old one and puts it in its place.
    public func save(_ data: Data) throws {
        try FileManager.default.createDirectory(
            at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
        #if canImport(Darwin)
            try data.write(to: file, options: [.atomic, .completeFileProtectionUntilFirstUserAuthentication])
            var values = URLResourceValues()
            values.isExcludedFromBackup = true
            var file = file
            try file.setResourceValues(values)
        #else
            try data.write(to: file, options: .atomic)
            try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: file.path)
        #endif
    }
}

#if canImport(Security)
    /// An item of the Keychain that is for this device only and can be read while the phone is locked.
    public struct KeychainStorage: ClientStorage {
        private let service: String

        /// An item of this app.
        ///
        /// - Parameter service: Tells this item from the app's others.
        public init(_ service: String = "islet-client") {
            self.service = service
        }

        private var query: [CFString: Any] {
            [kSecClass: kSecClassGenericPassword, kSecAttrService: service, kSecAttrAccount: "identity"]
        }

        /// The item's content; `nil` when there is none.
        public func load() throws -> Data? {
            var query = query
            query[kSecReturnData] = true
            var found: CFTypeRef?
            let status = SecItemCopyMatching(query as CFDictionary, &found)
            guard status != errSecItemNotFound else { return nil }
            guard status == errSecSuccess else { throw CocoaError(.fileReadNoPermission) }
            return found as? Data
        }

        /// Adds the item, or replaces its content.
        public func save(_ data: Data) throws {
            let change: [CFString: Any] = [
                kSecValueData: data, kSecAttrAccessible: kSecAttrAccessibleAfterFirstUnlockThisDeviceOnly,
            ]
            var status = SecItemUpdate(query as CFDictionary, change as CFDictionary)
            if status == errSecItemNotFound {
                status = SecItemAdd(query.merging(change) { $1 } as CFDictionary, nil)
            }
            guard status == errSecSuccess else { throw CocoaError(.fileWriteNoPermission) }
        }
    }
#endif
