// The application's additions to the generated classes.
import Foundation

// Generated code calls it, also off the main actor. Without `nonisolated`, an extension is isolated to the main actor here.
nonisolated extension Book {
  func validateTitle(_ value: inout String) { value = value.trimmingCharacters(in: .whitespaces) }
}

extension Author {
  /// For the user interface.
  public var label: String { "\(name) (\(books.count))" }
}
