public import Foundation

#if canImport(Security)
    internal import Security
#endif

/// Storage for what the client must remember between launches.
public protocol ClientStorage: Sendable {
    /// Returns what was saved last, or `nil` if nothing was saved yet.
    ///
    /// - Throws: An error if the data is there but cannot be read now, as before the first unlock after a restart. The
    ///   client waits then.
    func load() throws -> Data?
    /// Replaces the kept data, all or nothing.
    func save(_ data: Data) throws
}

/// A file that is readable while the phone is locked and that no backup carries to another phone.
public struct FileStorage: ClientStorage {
    private let file: URL

    /// Creates storage in a file of your choice.
    ///
    /// - Parameter file: The file. Its folder is created if it is missing.
    public init(_ file: URL) {
        self.file = file
    }

    /// Returns storage in a file with this name in the app's Application Support folder.
    public static func standard(_ name: String = "islet-client.json") -> FileStorage {
        let folders = FileManager.default.urls(for: .applicationSupportDirectory, in: .userDomainMask)
        return FileStorage((folders.first ?? FileManager.default.temporaryDirectory).appendingPathComponent(name))
    }

    /// Returns the file's content, or `nil` if there is no file.
    public func load() throws -> Data? {
        guard FileManager.default.fileExists(atPath: file.path) else { return nil }
        return try Data(contentsOf: file)
    }

    /// Writes a new file beside the old one and moves it into the old one's place.
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
    /// An item of the Keychain for this device only. It is readable while the phone is locked.
    public struct KeychainStorage: ClientStorage {
        private let service: String

        /// Creates storage in an item of this app.
        ///
        /// - Parameter service: The name that tells this item from the app's others.
        public init(_ service: String = "islet-client") {
            self.service = service
        }

        private var query: [CFString: Any] {
            [kSecClass: kSecClassGenericPassword, kSecAttrService: service, kSecAttrAccount: "identity"]
        }

        /// Returns the item's content, or `nil` if there is no item.
        public func load() throws -> Data? {
            var query = query
            query[kSecReturnData] = true
            var found: CFTypeRef?
            let status = SecItemCopyMatching(query as CFDictionary, &found)
            guard status != errSecItemNotFound else { return nil }
            guard status == errSecSuccess else { throw CocoaError(.fileReadNoPermission) }
            return found as? Data
        }

        /// Adds the item or replaces its content.
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
