import ArgumentParser
import Foundation
import ObjectModel
import CipherData
import SQLCipherStore

/// Prints information about a store.
struct InfoCommand: AsyncParsableCommand {
  /// The output formats.
  enum Format: String, ExpressibleByArgument, CaseIterable, Sendable {
    case text, json
  }

  static let configuration = CommandConfiguration(
    commandName: "info", abstract: "Print information about a store: objects by entity, sizes, cipher, keys, model.")

  @OptionGroup
  var store: StoreOptions

  @Option(help: "The output format.")
  var format = Format.text

  func run() async throws {
    let file = try await store.unlock()
    var information = try await file.information()
    let abstract = Set(try await file.readModel().entities.filter(\.isAbstract).map(\.name))
    information.entityCounts.removeAll { abstract.contains($0.entityName) }
    let sink = OutputSink()
    switch format {
    case .json: try sink.line(Self.json(information, path: store.store).serialized())
    case .text: try Self.write(information, path: store.store, to: sink)
    }
    try sink.flush()
  }

  static func json(_ information: StoreFileInformation, path: String) -> JSONValue {
    .object([
      ("store", .string(path)), ("identifier", .string(information.storeIdentifier)),
      ("lineage", information.lineageIdentifier.map(JSONValue.string) ?? .null), ("stableIDs", .bool(information.tracksObjectIdentity)),
      ("formatVersion", .integer(information.formatVersion)),
      (
        "encryption",
        .object([
          ("format", .string(information.encryption.description)), ("pageSize", .integer(information.encryption.pageSize)),
          ("sqlcipherVersion", .string(information.sqlcipherVersion)), ("sqliteVersion", .string(information.sqliteVersion)),
        ])
      ),
      ("fileSize", .integer(information.fileSize)), ("logSize", .integer(information.logSize)), ("pages", .integer(information.pageCount)),
      ("freePages", .integer(information.freePageCount)), ("journalMode", .string(information.journalMode)),
      ("modelVersions", .array(information.modelVersionIdentifiers.sorted().map(JSONValue.string))),
      ("entities", .object(information.entityCounts.map { ($0.entityName, .integer($0.count)) })),
      ("keys", .array(information.keySlots.map(KeyCommand.json))),
      ("metadata", .object(information.userMetadata.sorted { $0.key < $1.key }.map { ($0.key, .string($0.value)) })),
    ])
  }

  private static func write(_ information: StoreFileInformation, path: String, to sink: OutputSink) throws {
    let log = information.logSize > 0 ? ", and \(InfoText.bytes(information.logSize)) in the log" : ""
    let free = information.freePageCount > 0 ? ", \(information.freePageCount) of them free" : ""
    let versions = information.modelVersionIdentifiers.sorted().joined(separator: ", ")
    let lines = [
      ("Store", path), ("Identifier", information.storeIdentifier),
      ("Lineage", information.lineageIdentifier ?? "none yet"),
      ("Stable IDs", information.tracksObjectIdentity ? "yes" : "no"),
      ("Size", "\(InfoText.bytes(information.fileSize))\(log); \(information.pageCount) pages\(free)"),
      (
        "Encryption",
        "\(information.encryption); library SQLCipher \(information.sqlcipherVersion) (SQLite \(information.sqliteVersion))"
      ),
      (
        "Model",
        "\(versions.isEmpty ? "without a version" : versions), \(information.entityCounts.count) entities with objects of their own"
      ),
    ]
    for (title, value) in lines {
      try sink.line("\(title):".padding(toLength: 13, withPad: " ", startingAt: 0) + TableWriter.printable(value))
    }
    try sink.line("")
    let table = TableWriter(columns: ["entity", "objects"], to: sink)
    for (name, count) in information.entityCounts { try table.write([.string(name), .integer(count)]) }
    try table.finish()
    try sink.line("")
    try KeyCommand.write(information.keySlots, to: sink)
  }
}
