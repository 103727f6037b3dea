import ArgumentParser
import Foundation
import SQLCipherStore

/// Releases unused pages of a store's file.
struct CompactCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "compact",
    abstract: "Release the disk space of deleted objects.",
    discussion: """
      The store is rewritten with the same keys, verified, and atomically replaced. This needs additional disk space for the used part \
      of the store. A store in use is rejected.
      """)

  @OptionGroup var store: StoreOptions
  @Flag(help: "Update the query planner's statistics afterwards, as `statistics` does.") var statistics = false
  @Option(help: "The output format.") var format = InfoCommand.Format.text

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
      let end = saved > 0 ? "\(InfoText.bytes(saved)) released" : "there was no unused space"
      try sink.line("\(before) before, \(after) after: \(end)")
    }
    try sink.flush()
  }
}

/// Updates the statistics that the query planner uses.
struct StatisticsCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "statistics",
    abstract: "Collect index statistics for the query planner, or remove them.",
    discussion: """
      Without statistics, the planner uses only the declared indexes. Statistics change no results, can make fetches faster or slower, \
      and are not updated by later changes. Processes use them after they reopen the store. `fetch --explain` says which index is used.
      """)

  @OptionGroup var store: StoreOptions
  @Flag(help: "Remove the statistics.") var remove = false

  func run() async throws {
    let file = try await store.unlock()
    if remove { try await file.removeStatistics() } else { try await file.updateStatistics() }
  }
}
