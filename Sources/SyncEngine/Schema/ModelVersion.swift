package import ObjectModel

/// The version of a model: an identifier of numbers, such as `2` or `2.1`.
package struct ModelVersion: Hashable, Sendable, Comparable, CustomStringConvertible {
  package let description: String
  /// The numbers, without zeros at the end: 2 and 2.0 are equal.
  private let numbers: [UInt32]

  /// Returns nil if the text is not a list of numbers with dots between them.
  package init?(_ text: String) {
    var numbers: [UInt32] = []
    for part in text.split(separator: ".", omittingEmptySubsequences: false) {
      guard let number = UInt32(part), part.allSatisfy(\.isNumber) else { return nil }
      numbers.append(number)
    }
    while numbers.last == 0 { numbers.removeLast() }
    (description, self.numbers) = (text, numbers)
  }

  /// Returns the greatest version among the identifiers of a model; nil if it has none.
  package init?(of model: CompiledModel) {
    guard let greatest = model.model.versionIdentifiers.compactMap({ ModelVersion($0) }).max() else { return nil }
    self = greatest
  }

  package static func == (one: ModelVersion, other: ModelVersion) -> Bool { one.numbers == other.numbers }
  package func hash(into hasher: inout Hasher) { hasher.combine(numbers) }
  package static func < (one: ModelVersion, other: ModelVersion) -> Bool { one.numbers.lexicographicallyPrecedes(other.numbers) }
}
