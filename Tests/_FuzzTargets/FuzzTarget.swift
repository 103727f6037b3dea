// FuzzTarget: a parser of bytes that others have written, and what must be true of whatever it is given.
public import Foundation

/// A parser of bytes that others have written. It answers, or throws an error of its own; it never traps.
public struct FuzzTarget: Sendable {
  /// The name, which is that of the folder of its corpus too.
  public let name: String
  /// What inputs are made of.
  public let dictionary: [String]
  /// Inputs that it takes, to begin with.
  public let seeds: [Data]
  private let body: @Sendable (Data) throws -> String?

  init(_ name: String, dictionary: [String] = [], seeds: [Data] = [], _ body: @escaping @Sendable (Data) throws -> String?) {
    (self.name, self.dictionary, self.seeds, self.body) = (name, dictionary, seeds, body)
  }

  init(_ name: String, dictionary: [String] = [], texts: [String], _ body: @escaping @Sendable (Data) throws -> String?) {
    self.init(name, dictionary: dictionary, seeds: texts.map { Data($0.utf8) }, body)
  }

  /// Gives it an input; what is wrong with its answer, nil where nothing is.
  public func problem(_ input: Data) -> String? {
    do { return try body(input) } catch { return "an error of no type of its own: \(type(of: error)) \(error)" }
  }

  /// All of them.
  public static let all: [FuzzTarget] = [
    predicate, request, model, configuration, jsonLines, deb822, keyFile, largeValue, log, history, row, coreData, propertyList, arguments,
  ]

  /// The target of a name.
  public static func named(_ name: String) -> FuzzTarget? { all.first { $0.name == name } }
}

/// A file that is written for each input, and gone when the process is.
final class ScratchFile: Sendable {
  let path: String
  private let folder: String

  /// - Parameter name: The file's name, where it matters.
  init(_ name: String = "input") throws {
    // Where there is a file system in memory, it is many times as fast.
    let root = FileManager.default.fileExists(atPath: "/dev/shm") ? "/dev/shm" : FileManager.default.temporaryDirectory.path
    folder = "\(root)/cipherdata-fuzz-\(UUID().uuidString)"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    path = "\(folder)/\(name)"
  }

  deinit { try? FileManager.default.removeItem(atPath: folder) }

  func write(_ data: Data) throws { try data.write(to: URL(fileURLWithPath: path)) }
}
