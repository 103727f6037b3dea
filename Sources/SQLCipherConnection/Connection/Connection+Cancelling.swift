// Statements that ask on their way whether they are still wanted.
import CSQLCipher

extension Connection {
  /// How many steps of SQLite's machine lie between two questions: some hundred microseconds.
  private static var stepsBetweenQuestions: Int32 { 2_000 }

  /// Runs `body`, whose statements fail with `.cancelled` once they are not wanted any more.
  package func cancelling<Result>(when isCancelled: () -> Bool, _ body: () throws -> Result) rethrows -> Result {
    guard !isClosed else { return try body() }
    return try withoutActuallyEscaping(isCancelled) { isCancelled in
      let box = Unmanaged.passRetained(QuestionBox(isCancelled))  // released when the handler is gone
      sqlite3_progress_handler(
        pointer, Self.stepsBetweenQuestions,
        // SQLite asks as long as the handler is there.
        { data in data.map { Unmanaged<QuestionBox>.fromOpaque($0)._withUnsafeGuaranteedRef { $0.question() } } ?? false ? 1 : 0 },
        box.toOpaque())
      defer {
        sqlite3_progress_handler(pointer, 0, nil, nil)
        box.release()
      }
      return try body()
    }
  }
}

/// A Swift closure behind a C function pointer.
private final class QuestionBox {
  let question: () -> Bool
  init(_ question: @escaping () -> Bool) { self.question = question }
}
