/// The credentials of a phone's calls. They are kept where no backup goes. The machine decides what becomes of them,
/// and the engine performs it.
package struct PhoneCredentials: Sendable, Hashable, Codable, CustomStringConvertible, CustomReflectable {
    /// The credential that the server gave this phone for the signed-in person.
    package var own: String?
    /// The credential that the server gave this phone for the previous person. Shown beside the next person's own, it
    /// proves that the phone was handed over. It makes no calls by itself any more.
    package var proof: String?
    /// The person's own credential, which the app gave. It is used until the phone has one of its own.
    package var borrowed: String?
    /// The person of `own` and `borrowed`. Credentials and the signed-in person are not saved in one step.
    package private(set) var person: String?

    package init() {}

    package enum Change: Sendable, Hashable {
        /// The server gave this phone a credential for this person, which is used from now on.
        case keep(String, of: String)
        /// Another person is signed in, so the previous person's credential becomes the proof.
        case turnIntoProof
        /// The server must be told something for the previous person after all.
        case turnIntoOwn
        /// The server knows the next person, so nothing is left to prove.
        case dropProof
        /// The server refused the credential, so the person's is used again.
        case dropOwn
        /// No call is made for anybody any more.
        case dropAll
    }

    package mutating func apply(_ change: Change) {
        switch change {
        case .keep(let credential, let person):
            (own, proof, borrowed, self.person) = (credential, nil, nil, person)
        case .turnIntoProof: (own, proof, borrowed, person) = (nil, own ?? proof, nil, nil)
        case .turnIntoOwn: (own, proof) = (own ?? proof, nil)
        case .dropProof: proof = nil
        case .dropOwn: (own, proof) = (nil, nil)
        case .dropAll: self = PhoneCredentials()
        }
    }

    /// Keeps the person's credential that the app gave. `person` is `nil` while the last person is leaving.
    package mutating func borrow(_ credential: String, of person: String?) {
        (borrowed, self.person) = (credential, person)
    }

    /// Returns the change that a process left undone when it ended during a change of person, or `nil` if there is
    /// none.
    func changeLeft(by memory: RegistrationMemory) -> Change? {
        if memory.isLeaving { return own == nil && proof != nil ? .turnIntoOwn : nil }
        guard let user = memory.user else { return self == PhoneCredentials() ? nil : .dropAll }
        return person != user && (own ?? borrowed) != nil ? .turnIntoProof : nil
    }

    package var description: String { "PhoneCredentials" }
    /// An empty mirror, so that `dump` shows no credential.
    package var customMirror: Mirror { Mirror(self, children: []) }
}
