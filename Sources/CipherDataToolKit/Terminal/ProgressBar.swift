import Foundation

/// A progress bar on the terminal. It writes nothing if standard error is not a terminal.
package final class ProgressBar {
  private let title: String
  private let total: Int?
  private let descriptor: Int32
  private let isShown: Bool
  private let started = ContinuousClock.now
  private var drawn: ContinuousClock.Instant?

  /// Creates a progress bar.
  ///
  /// - Parameters:
  ///   - title: The name of the operation.
  ///   - total: The total amount; `nil` if unknown.
  ///   - descriptor: The descriptor to write to if it is a terminal.
  package init(_ title: String, total: Int?, descriptor: Int32 = STDERR_FILENO, isShown: Bool? = nil) {
    self.title = title
    self.total = total
    self.descriptor = descriptor
    self.isShown = isShown ?? Terminal.isTerminal(descriptor)
  }

  /// Shows the completed amount, at most twelve times a second.
  package func update(_ done: Int, detail: @autoclosure () -> String = "") {
    guard isShown else { return }
    let now = ContinuousClock.now
    if let drawn, now - drawn < .milliseconds(80) { return }
    drawn = now
    write("\r" + Self.line(title, done: done, total: total, detail: detail(), width: Terminal.width(descriptor)) + "\u{1B}[K")
  }

  /// Removes the bar from the terminal.
  package func finish() {
    guard isShown, drawn != nil else { return }
    write("\r\u{1B}[K")
    drawn = nil
  }

  /// Returns the line as it is displayed.
  package static func line(_ title: String, done: Int, total: Int?, detail: String, width: Int) -> String {
    var text = title
    if let total, total > 0 {
      let share = min(max(Double(done) / Double(total), 0), 1)
      let cells = max(min(30, width - DisplayWidth.of(title) - DisplayWidth.of(detail) - 12), 0)
      let filled = Int(share * Double(cells))
      text += " [" + String(repeating: "#", count: filled) + String(repeating: "-", count: cells - filled) + "]"
      let percent = String(Int(share * 100))
      text += " " + String(repeating: " ", count: 3 - percent.count) + percent + "%"
    }
    if !detail.isEmpty { text += " " + detail }
    return DisplayWidth.prefix(text, width: max(width - 1, 10))
  }

  private func write(_ text: String) {
    var text = text
    text.withUTF8 { _ = Foundation.write(descriptor, $0.baseAddress, $0.count) }
  }
}
