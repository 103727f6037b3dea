// NSSortDescriptor: orders of results as objects.
public import Foundation
import ObjectModel
package import ObjectQuery

/// How texts are compared, by the name of a method, as `#selector` gives it on Apple's systems.
public struct SortComparison: Sendable, Hashable {
  package let comparison: FetchSortDescriptor.Comparison

  /// By characters.
  public static let compare = SortComparison(comparison: .binary)
  /// Without regard to case.
  public static let caseInsensitiveCompare = SortComparison(comparison: .caseInsensitive)
  /// As the user's language has it.
  public static let localizedCompare = SortComparison(comparison: .localized)
  /// As the user's language has it, without regard to case.
  public static let localizedCaseInsensitiveCompare = SortComparison(comparison: .localizedCaseInsensitive)
  /// As files are listed: numbers by their value.
  public static let localizedStandardCompare = SortComparison(comparison: .localizedStandard)
}

/// An order of results: by a property, upwards or downwards.
public final class NSSortDescriptor: NSObject, @unchecked Sendable {  // it never changes
  package let descriptor: FetchSortDescriptor

  /// By a property, or by one at the end of a path of to-one relationships.
  public init(key: String?, ascending: Bool) {
    descriptor = FetchSortDescriptor(key ?? "self", ascending: ascending)
  }

  /// By a text property, compared in a way of its own.
  ///
  /// - Parameters:
  ///   - key: The property, or a path of to-one relationships that ends with one.
  ///   - ascending: Whether the least comes first.
  ///   - comparison: How texts are compared.
  public init(key: String?, ascending: Bool, comparison: SortComparison) {
    descriptor = FetchSortDescriptor(key ?? "self", ascending: ascending, comparison: comparison.comparison)
  }

  init(_ descriptor: FetchSortDescriptor) { self.descriptor = descriptor }

  /// The property.
  public var key: String? { descriptor.keyPath }
  /// Whether the least comes first.
  public var ascending: Bool { descriptor.isAscending }
  /// The opposite order.
  public var reversedSortDescriptor: Any {
    var opposite = descriptor
    opposite.isAscending.toggle()
    return NSSortDescriptor(opposite)
  }

  /// Descriptors are equal where their orders are.
  public override func isEqual(_ object: Any?) -> Bool { (object as? NSSortDescriptor)?.descriptor == descriptor }
  /// The hash of the order.
  public override var hash: Int { descriptor.hashValue }
}
