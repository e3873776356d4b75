import APNSModel
package import LiveActivityCore

/// A phone's credential in clear text: `islet_device_`, 12 characters that name its device, `_`, and a secret of 43
/// characters.
///
/// It is shown once, in the answer that issues it. Its description shows only the public half, which names the device.
package struct PhoneCredential: Sendable, Equatable, CustomStringConvertible, CustomReflectable {
    package static let prefix = "islet_device_"
    /// Enough characters, because 62 to the power of 11 is more than the number of device keys.
    static let idLength = 12

    /// The device of the credential.
    package let device: DeviceKey
    private let secret: CallerSecret

    /// The credential as the phone sends it. Never log it.
    package var text: String { "\(Self.prefix)\(id)_\(secret.text)" }
    package var id: String {
        var digits: [UInt8] = []
        var rest = UInt64(device)
        for _ in 0..<Self.idLength {
            digits.append(Base62.alphabet[Int(rest % 62)])
            rest /= 62
        }
        return String(decoding: digits.reversed(), as: UTF8.self)
    }

    /// Creates a credential from its text. Returns `nil` if the text has another form.
    package init?(_ text: String) {
        guard text.hasPrefix(Self.prefix) else { return nil }
        let rest = text.dropFirst(Self.prefix.count)
        let after = rest.dropFirst(Self.idLength)
        guard let device = Self.device(rest.prefix(Self.idLength)), after.hasPrefix("_"),
            let secret = CallerSecret(after.dropFirst())
        else { return nil }
        self.device = device
        self.secret = secret
    }

    /// Creates a new random credential. Use `SystemRandomNumberGenerator` outside tests.
    package init(of device: DeviceKey, using dice: inout some RandomNumberGenerator) {
        self.device = device & .max
        secret = CallerSecret(using: &dice)
    }

    /// The SHA-256 hash of the secret half.
    package var secretHash: [UInt8] { secret.hash }

    /// Returns the stored hash of this credential if it is one of the device's and not idle. Compares with all of them.
    func proven(by device: DeviceRecord?, at now: UnixTime, idleLimit: Duration) -> [UInt8]? {
        let known = device?.credentials.filter { !$0.isIdle(at: now, after: idleLimit) } ?? []
        return secret.proven(by: known.map(\.secretHash))
    }

    package var description: String { "\(Self.prefix)\(id)_…" }
    package var customMirror: Mirror { Mirror(self, children: ["id": id]) }

    private static func device(_ text: Substring) -> DeviceKey? {
        guard text.utf8.count == idLength else { return nil }
        var key: UInt64 = 0
        for letter in text.utf8 {
            guard let digit = Base62.alphabet.firstIndex(of: letter) else { return nil }
            let (product, overflows) = key.multipliedReportingOverflow(by: 62)
            let (sum, overflowsToo) = product.addingReportingOverflow(UInt64(digit))
            guard !overflows, !overflowsToo else { return nil }
            key = sum
        }
        return DeviceKey(exactly: key)
    }
}
