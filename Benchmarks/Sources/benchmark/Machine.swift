import BenchmarkData
import Foundation
import RawSQLCipher

/// The machine and the software versions of a run, for its heading.
struct Machine: Codable {
  let cipher: String
  let sqlite: String
  let processor: String
  let processors: Int
  /// Whether the databases are in memory, including those that should not be.
  let isInMemory: Bool
  let isDiskInMemory: Bool
  let authors: Int
  let tags: Int
  let books: Int
  let pairs: Int

  @MainActor
  init(_ options: Options, state: OpaquePointer, data: bench_data) {
    cipher = raw_cipher_version(state).map { String(cString: $0) } ?? "?"
    sqlite = raw_sqlite_version().map { String(cString: $0) } ?? "?"
    processor = Self.processorName()
    processors = ProcessInfo.processInfo.activeProcessorCount
    isInMemory = bench_is_memory_backed(options.memoryFolder)
    isDiskInMemory = bench_is_memory_backed(options.diskFolder)
    (authors, tags, books, pairs) = (data.author_count, data.tag_count, data.book_count, data.pair_count)
  }

  private static func processorName() -> String {
    guard let text = try? String(contentsOfFile: "/proc/cpuinfo", encoding: .utf8),
      let line = text.split(separator: "\n").first(where: { $0.hasPrefix("model name") }),
      let colon = line.firstIndex(of: ":")
    else { return "unknown processor" }
    return line[line.index(after: colon)...].trimmingCharacters(in: .whitespaces)
  }
}
