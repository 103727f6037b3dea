public import Foundation

/// A parser of untrusted bytes, and the property that must hold for any input: it returns or throws a typed error, and never traps.
public struct FuzzTarget: Sendable {
  /// The name, and that of the folder of its corpus.
  public let name: String
  /// Fragments of inputs.
  public let dictionary: [String]
  /// Valid initial inputs.
  public let seeds: [Data]
  private let body: @Sendable (Data) throws -> String?

  init(_ name: String, dictionary: [String] = [], seeds: [Data] = [], _ body: @escaping @Sendable (Data) throws -> String?) {
    (self.name, self.dictionary, self.seeds, self.body) = (name, dictionary, seeds, body)
  }

  init(_ name: String, dictionary: [String] = [], texts: [String], _ body: @escaping @Sendable (Data) throws -> String?) {
    self.init(name, dictionary: dictionary, seeds: texts.map { Data($0.utf8) }, body)
  }

  /// Passes an input to the parser. Returns a description of the problem; nil if there is no problem.
  public func problem(_ input: Data) -> String? {
    do { return try body(input) } catch { return "an error of no type of its own: \(type(of: error)) \(error)" }
  }

  /// All targets.
  public static let all: [FuzzTarget] = [
    predicate, request, model, configuration, jsonLines, deb822, keyFile, largeValue, log, history, row, coreData, propertyList, arguments,
  ]

  /// Returns the target with a name.
  public static func named(_ name: String) -> FuzzTarget? { all.first { $0.name == name } }
}

/// A file that is written for each input, and removed when the process ends.
final class ScratchFile: Sendable {
  let path: String
  private let folder: String

  /// - Parameter name: The file's name, for parsers that depend on it.
  init(_ name: String = "input") throws {
    // A file system in memory, if available, is many times as fast.
    let root = FileManager.default.fileExists(atPath: "/dev/shm") ? "/dev/shm" : FileManager.default.temporaryDirectory.path
    folder = "\(root)/cipherdata-fuzz-\(UUID().uuidString)"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    path = "\(folder)/\(name)"
  }

  deinit { try? FileManager.default.removeItem(atPath: folder) }

  func write(_ data: Data) throws { try data.write(to: URL(fileURLWithPath: path)) }
}
