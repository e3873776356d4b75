/// The headers of phones' calls besides those of HTTP.
package enum PhoneHeader {
    /// A credential of the phone that a person shows beside their own token, as a proof that they hold it.
    package static let deviceCredential = "Islet-Device-Credential"
}
