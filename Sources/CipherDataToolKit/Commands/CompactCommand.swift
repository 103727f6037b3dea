import ArgumentParser
import Foundation
import SQLCipherStore

/// Releases unused pages of a store's file.
struct CompactCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "compact",
    abstract: "Give the space that deleted objects have left back to the disk.",
    discussion: """
      The store is written anew under the same keys, checked, and put in the old one's place. It takes room on the disk for what is in use, once more. A store in \
      use is refused. Whatever happens, the store is the old or the new one.
      """)

  @OptionGroup var store: StoreOptions
  @Flag(help: "Count what the query planner goes by afterwards, as `statistics` does.") var statistics = false
  @Option(help: "The form of the output.") var format = InfoCommand.Format.text

  func run() async throws {
    let file = try await store.unlock()
    let progress = SharedProgress("Compacting")
    let result: StoreCompaction
    do {
      defer { progress.finish() }
      result = try await file.compact(updatesStatistics: statistics, progress: progress.handler)
    }
    let sink = OutputSink()
    switch format {
    case .json:
      try sink.line(
        JSONValue.object([
          ("store", .string(store.store)), ("bytesBefore", .integer(result.bytesBefore)), ("bytesAfter", .integer(result.bytesAfter)),
        ]).serialized())
    case .text:
      let (before, after) = (InfoText.bytes(result.bytesBefore), InfoText.bytes(result.bytesAfter))
      let saved = result.bytesBefore - result.bytesAfter
      let end = saved > 0 ? "\(InfoText.bytes(saved)) given back" : "there was nothing to give back"
      try sink.line("\(before) before, \(after) after: \(end)")
    }
    try sink.flush()
  }
}

/// Updates the statistics that the query planner uses.
struct StatisticsCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "statistics",
    abstract: "Count how many objects each index leads to, for the query planner, or remove the figures.",
    discussion: """
      Without figures the planner goes by the indexes alone. They change no result, may make fetches faster or slower, and do not follow later changes; who has \
      the store open goes by them once he opens it again. `fetch --explain` says which index is used.
      """)

  @OptionGroup var store: StoreOptions
  @Flag(help: "Remove the figures.") var remove = false

  func run() async throws {
    let file = try await store.unlock()
    if remove { try await file.removeStatistics() } else { try await file.updateStatistics() }
  }
}
