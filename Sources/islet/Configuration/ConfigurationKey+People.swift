import JSONText
import LiveActivityServer

extension ConfigurationKey {
    /// Keys of an app's sign-in.
    static let people: [ConfigurationKey] = [
        ConfigurationKey(
            "issuers", .scalars("text"), .required("https://id.example.com"),
            "Who may have issued a token: its `iss`, exactly."),
        ConfigurationKey(
            "audience", .text("text"), .required("islet"),
            "Whom a token has to be for: its `aud`, or one of them. Issuer and audience together name one app."),
        ConfigurationKey(
            "secretFile", .text("path"), .optional("people-secrets"),
            "The file with the secret that tokens are signed with by HS256: a line of 32 bytes at least, or several "
                + "lines while one takes the place of another. Give it, secretEnvironment, keyFile or jwks."),
        ConfigurationKey(
            "secretEnvironment", .text("name of a variable"), .optional("PEOPLE_SECRET"),
            "The environment variable that holds the same, in place of secretFile."),
        ConfigurationKey(
            "keyFile", .text("path"), .required("people-keys.pem"),
            "The public keys in PEM form, one or several: RSA of 2048 bits at least for RS256, P-256 for ES256, "
                + "Ed25519 for EdDSA."),
        ConfigurationKey(
            "jwks", .object(jwks), .group(isOptional: true),
            "The identity provider's key set, in place of keys of one's own."),
        ConfigurationKey(
            "algorithms", .scalars(TokenAlgorithm.allCases.map(\.rawValue).joined(separator: ", ")),
            .optional("ES256"),
            "What tokens may be signed by; left out, what the keys are for. A key is never used by another algorithm "
                + "than its own."),
        ConfigurationKey(
            "user", .text("JSON Pointer"), .defaulted(PeopleSettings.standardUser.description),
            "The claim that is the person's id, as the backend names people."),
        ConfigurationKey(
            "leeway", .scalar("duration"), .defaulted(Wording.duration(PeopleSettings.standardLeeway)),
            "By how much the clocks of issuer and server may differ, at most 10m."),
    ]

    private static let jwks: [ConfigurationKey] = [
        ConfigurationKey(
            "url", .text("https URL"), .required("https://id.example.com/.well-known/jwks.json"),
            "Where the set is read. Redirects are not followed."),
        ConfigurationKey(
            "refresh", .scalar("duration"), .defaulted(Wording.duration(KeySetSchedule.Limits().refresh)),
            "How often it is read where its answer does not say how long it is fresh: 1m to 1d. A token of an unknown "
                + "key has it read at once, once a minute at most."),
        ConfigurationKey(
            "allowPrivate", .scalar("true or false"), .defaulted("false"),
            "Whether the URL may be plain http, and lead to this machine or a private network."),
    ]
}
