/// Names of the headers that only the calls of phones have.
package enum PhoneHeader {
    /// The header with the phone's credential, sent beside a person's own token to prove that the person holds the
    /// phone.
    package static let deviceCredential = "Islet-Device-Credential"
}
