// swift-format-ignore-file

// Private types of the same name in two files.

private struct Twin: Codable, Hashable {
    var two: String
}

fileprivate enum TwinStatus: Int, Codable { case two = 2 }

struct SecondTwinAttributes: ActivityAttributes {
    struct ContentState: Codable, Hashable {
        fileprivate var twin: Twin?
        fileprivate var status = TwinStatus.two
        private var shared: AcrossFiles.Item
    }

    fileprivate var twins: [String: Twin]
}

extension AcrossFiles {
    struct Item: Codable, Hashable {
        var kind: Kind
        var others: [Other]
    }
}
