// SQLObserver: who hears of the SQL that runs over a store: applications that look for what is slow, and tests that count statements.
import SQLCipherConnection
import Synchronization

/// A statement that has run over a store.
public struct ObservedStatement: Sendable, Hashable, CustomStringConvertible {
  /// The statement, with placeholders: it holds no stored value and none of a predicate.
  public let text: String
  /// The time from its first step to its last; what was done with its rows in between counts too.
  public let duration: Duration
  /// The rows that were read; of a statement that writes, the rows that it has changed, by its triggers too.
  public let rowCount: Int

  init(text: String, duration: Duration, rowCount: Int) {
    (self.text, self.duration, self.rowCount) = (text, duration, rowCount)
  }

  init(_ statement: ProfiledStatement) {
    self.init(text: statement.text, duration: statement.duration, rowCount: statement.rowCount)
  }

  /// The milliseconds, the rows, and the statement on one line.
  public var description: String {
    let microseconds = duration / .microseconds(1)
    let hundredths = Int((microseconds / 10).rounded())
    let time = "\(hundredths / 100)." + (hundredths % 100 < 10 ? "0" : "") + "\(hundredths % 100) ms"
    let line = text.split(whereSeparator: \.isWhitespace).joined(separator: " ")
    return "\(time), \(rowCount) row\(rowCount == 1 ? "" : "s"): \(line)"
  }
}

/// Hears of the SQL that runs over a store, as with Core Data's launch argument `-com.apple.CoreData.SQLDebug`.
///
/// ```swift
/// var description = PersistentStoreDescription(url: url, key: key)
/// description.sqlObserver = SQLObserver { statement in
///   if statement.duration > .milliseconds(50) { print(statement) }
/// }
/// ```
///
/// The environment variable `CIPHERDATA_LOG=sql` prints the same to standard error, for every store of a process. A store that nobody observes pays nothing.
public final class SQLObserver: Sendable {
  private let texts = Mutex<[String]>([])
  private let reads = Mutex<[LaterReads]>([])
  private let heard: (@Sendable (String) -> Void)?
  /// Who is told of statements that have run.
  let profiler: (@Sendable (ObservedStatement) -> Void)?

  /// Makes an observer. Statements that begin and end transactions are among what it hears; those that the library checks pages with are not.
  ///
  /// - Parameter heard: Called after each statement, on the thread that has run it, which waits. It must not use the store.
  public init(_ heard: @escaping @Sendable (_ statement: ObservedStatement) -> Void) {
    profiler = heard
    self.heard = nil
  }

  /// Makes an observer that counts.
  ///
  /// - Parameter heard: Called with each statement, just before it runs, on its thread.
  package init(beforeEach heard: (@Sendable (String) -> Void)? = nil) {
    self.heard = heard
    profiler = nil
  }

  /// Whether it counts.
  var notesTexts: Bool { profiler == nil }

  /// The texts of the statements run so far, without arguments.
  package var statements: [String] { texts.withLock { $0 } }
  /// How many statements were run.
  package var count: Int { texts.withLock { $0.count } }
  /// What objects have asked for after they were fetched, in the order in which it was first asked for.
  package var laterReads: [LaterReads] { reads.withLock { $0 } }
  /// Forgets them.
  package func reset() {
    texts.withLock { $0 = [] }
    reads.withLock { $0 = [] }
  }

  func note(_ text: String) {
    texts.withLock { $0.append(text) }
    heard?(text)
  }

  func note(_ subject: LaterReads.Subject, objects: Int) {
    reads.withLock { reads in
      let index = reads.firstIndex { $0.subject == subject } ?? reads.endIndex
      if index == reads.endIndex { reads.append(LaterReads(subject: subject)) }
      reads[index].requests += 1
      reads[index].objects += objects
      if objects == 1 { reads[index].alone += 1 }
    }
  }
}
