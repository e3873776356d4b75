// swift-format-ignore-file

// Private types of the same name in two files.

private struct Twin: Codable, Hashable {
    var one: Int
}

private enum TwinStatus: String, Codable { case one }

struct FirstTwinAttributes: ActivityAttributes {
    struct ContentState: Codable, Hashable {
        private var twin: Twin
        private var status = TwinStatus.one
    }

    private var twins: [Twin]
}
