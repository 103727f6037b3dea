// Rules: what the application adds to the generated classes.
import Foundation

// Generated code calls it, off the main actor too: extensions are the main actor's unless they say otherwise, as everything here.
nonisolated extension Book {
  func validateTitle(_ value: inout String) { value = value.trimmingCharacters(in: .whitespaces) }
}

extension Author {
  /// For the user interface.
  public var label: String { "\(name) (\(books.count))" }
}
