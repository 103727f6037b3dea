import SQLCipherConnection
import Synchronization

/// A statement that ran on a store.
public struct ObservedStatement: Sendable, Hashable, CustomStringConvertible {
  /// The SQL text with placeholders. It contains no stored values and no constants of predicates.
  public let text: String
  /// The time from the first step to the last, including the time that the caller spent on rows in between.
  public let duration: Duration
  /// The number of rows read. For a statement that writes, the number of rows changed, including those changed by triggers.
  public let rowCount: Int

  init(text: String, duration: Duration, rowCount: Int) {
    (self.text, self.duration, self.rowCount) = (text, duration, rowCount)
  }

  init(_ statement: ProfiledStatement) {
    self.init(text: statement.text, duration: statement.duration, rowCount: statement.rowCount)
  }

  /// The milliseconds, the number of rows, and the SQL text on one line.
  public var description: String {
    let microseconds = duration / .microseconds(1)
    let hundredths = Int((microseconds / 10).rounded())
    let time = "\(hundredths / 100)." + (hundredths % 100 < 10 ? "0" : "") + "\(hundredths % 100) ms"
    let line = text.split(whereSeparator: \.isWhitespace).joined(separator: " ")
    return "\(time), \(rowCount) row\(rowCount == 1 ? "" : "s"): \(line)"
  }
}

/// An observer of the SQL that runs on a store, comparable to Core Data's launch argument `-com.apple.CoreData.SQLDebug`.
///
/// ```swift
/// var description = PersistentStoreDescription(url: url, key: key)
/// description.sqlObserver = SQLObserver { statement in
///   if statement.duration > .milliseconds(50) { print(statement) }
/// }
/// ```
///
/// The environment variable `CIPHERDATA_LOG=sql` prints the same to standard error for every store of a process. Without an observer, the
/// overhead is negligible.
public final class SQLObserver: Sendable {
  private let texts = Mutex<[String]>([])
  private let reads = Mutex<[FaultReads]>([])
  private let handler: (@Sendable (String) -> Void)?
  /// The callback for statements that have run.
  let profiler: (@Sendable (ObservedStatement) -> Void)?

  /// Creates an observer.
  ///
  /// It also receives the statements that begin and end transactions, but not those with which the library checks pages.
  ///
  /// - Parameter handler: Called after each statement, synchronously on the thread that ran it. It must not use the store.
  public init(_ handler: @escaping @Sendable (_ statement: ObservedStatement) -> Void) {
    profiler = handler
    self.handler = nil
  }

  /// Creates an observer that records statements.
  ///
  /// - Parameter handler: Called with the text of each statement just before it runs, on the same thread.
  package init(beforeEach handler: (@Sendable (String) -> Void)? = nil) {
    self.handler = handler
    profiler = nil
  }

  /// Whether the observer records statements.
  var recordsStatements: Bool { profiler == nil }

  /// The texts of the statements recorded so far, with placeholders.
  package var statements: [String] { texts.withLock { $0 } }
  package var count: Int { texts.withLock { $0.count } }
  /// The reads that objects requested after their fetch, in the order of each subject's first request.
  package var faultReads: [FaultReads] { reads.withLock { $0 } }
  package func reset() {
    texts.withLock { $0 = [] }
    reads.withLock { $0 = [] }
  }

  func record(_ text: String) {
    texts.withLock { $0.append(text) }
    handler?(text)
  }

  func record(_ subject: FaultReads.Subject, objects: Int) {
    reads.withLock { reads in
      let index = reads.firstIndex { $0.subject == subject } ?? reads.endIndex
      if index == reads.endIndex { reads.append(FaultReads(subject: subject)) }
      reads[index].requests += 1
      reads[index].objects += objects
      if objects == 1 { reads[index].singleReads += 1 }
    }
  }
}
