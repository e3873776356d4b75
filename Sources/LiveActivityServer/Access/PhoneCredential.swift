import APNSModel
package import LiveActivityCore

/// A phone's own credential in the clear: `islet_device_`, 12 characters by which its device is found, `_`, and 43
/// characters that prove it.
///
/// It is shown once, in the answer that hands it out. Printing it shows its public half, which is the device's.
package struct PhoneCredential: Sendable, Equatable, CustomStringConvertible, CustomReflectable {
    package static let prefix = "islet_device_"
    /// 62 to the power of 11 is more than the keys of devices.
    static let idLength = 12

    /// Whose it is.
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

    /// A credential from a text; `nil` when it does not have the form.
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

    /// A new credential from these dice; give `SystemRandomNumberGenerator` outside tests.
    package init(of device: DeviceKey, using dice: inout some RandomNumberGenerator) {
        self.device = device & .max
        secret = CallerSecret(using: &dice)
    }

    /// The SHA-256 of the secret half.
    package var secretHash: [UInt8] { secret.hash }

    /// The hash that it is kept by, where it is one of the device's and was used lately enough. Looks at all of them,
    /// whichever it is.
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
