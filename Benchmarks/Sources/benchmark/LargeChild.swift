import BenchmarkData
import CipherData
import RawSQLCipher

/// An import or enumeration of W30 on a large library. Each runs in a child process, since memory is measured as the peak of a process.
@MainActor
struct LargeChild {
  enum Work: String {
    case fill
    case enumerate
  }

  nonisolated static let command = "large"
  /// The number of rows per save.
  private static let batch: UInt32 = 2_000
  var work: Work
  var contender: Contender
  var path: String
  var books: Int
  /// The size of a connection's page cache in bytes.
  var cacheSize: Int

  /// Starts the process.
  func start() throws -> Child.Answer {
    try Child.start([Self.command, work.rawValue, contender.rawValue, path, String(books), String(cacheSize)])
  }

  /// Runs in the child process.
  static func answer(_ arguments: [String]) async throws -> Child.Answer? {
    guard arguments.count == 6, let work = Work(rawValue: arguments[1]), let contender = Contender(rawValue: arguments[2]),
      let books = Int(arguments[4]), let cacheSize = Int(arguments[5])
    else { return nil }
    let child = LargeChild(work: work, contender: contender, path: arguments[3], books: books, cacheSize: cacheSize)
    return contender == .raw ? try await child.answerOfRaw() : try await child.answerOfLibrary()
  }

  private func answerOfRaw() async throws -> Child.Answer {
    let library = raw_large_open(path, UInt32(books), UInt32(cacheSize >> 10))
    defer { raw_large_close(library) }
    var sum: UInt64 = 0
    let measured = try await Child.measure {
      switch work {
      case .fill: raw_large_import(library, Self.batch)
      case .enumerate: sum = raw_large_enumerate(library)
      }
    }
    if work == .fill { sum = bench_mix(raw_large_enumerate(library), raw_large_deep(library)) }
    return Child.Answer(measured: measured, checksum: sum)
  }

  private func answerOfLibrary() async throws -> Child.Answer {
    let library = try await LargeLibrary(path, books: books, cacheSize: cacheSize)
    var sum: UInt64 = 0
    let measured = try await Child.measure {
      switch work {
      case .fill: try library.fill(batch: Self.batch)
      case .enumerate: sum = try library.enumerate()
      }
    }
    if work == .fill { sum = bench_mix(try library.enumerate(), try library.deep()) }
    try library.close()
    return Child.Answer(measured: measured, checksum: sum)
  }
}
