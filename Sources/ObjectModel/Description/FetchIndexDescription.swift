/// An index of an entity, which lets a store find objects without scanning all of them.
///
/// ```swift
/// var book = EntityDescription(name: "Book")
/// book.indexes.append(FetchIndexDescription(name: "byTitle", elements: [.ascending("title", collation: .caseInsensitive),
/// .descending("published")]))
/// ```
///
/// An index never changes the result of a fetch. It costs space in the file, and time in each save that changes one of its properties. A
/// store builds a new index when it is next opened for writing, in the time that sorting all rows of the entity takes; no migration is
/// needed. ``FetchExplanation`` shows which indexes a fetch uses.
public struct FetchIndexDescription: Sendable, Hashable {
  /// The index's name, unique in its entity.
  public var name: String
  /// The elements, most significant first.
  public var elements: [FetchIndexElement]
  /// The predicate, in format language, for the rows in a partial index; nil for all rows.
  public var partialIndexPredicate: String?
  /// Parts of the model file that the other properties do not represent.
  package var preserved = PreservedXML()

  /// Creates an index.
  ///
  /// - Parameters:
  ///   - name: The index's name.
  ///   - elements: The elements, most significant first.
  ///   - partialIndexPredicate: The predicate, in format language, for the rows to index; nil for all rows.
  public init(name: String, elements: [FetchIndexElement], partialIndexPredicate: String? = nil) {
    self.name = name
    self.elements = elements
    self.partialIndexPredicate = partialIndexPredicate
  }

  /// Whether this is a full-text index.
  package var isFullText: Bool { elements.first?.kind == .fullText }
}

/// An element of an index.
public struct FetchIndexElement: Sendable, Hashable {
  /// The kind of an index element.
  public enum Kind: String, Sendable, Hashable {
    /// An index by order.
    case binary = "Binary"
    /// An index by ranges in several dimensions.
    case rtree = "RTree"
    /// An index of the words in a text, for SEARCH. Core Data has no such index; its editor may keep or remove it.
    case fullText = "FullText"
  }
  /// The transformation of text before it is indexed.
  public enum Collation: String, Sendable, Hashable, CaseIterable {
    /// No transformation: text is indexed by its UTF-8 bytes.
    case binary
    /// Ignores case: for comparisons with `[c]`, and for case-insensitive sort orders.
    case caseInsensitive
    /// Ignores diacritics: for comparisons with `[d]`.
    case diacriticInsensitive
    /// Ignores case and diacritics: for comparisons with `[cd]`.
    case caseAndDiacriticInsensitive
  }
  /// The name of the attribute or to-one relationship; nil for an expression.
  public var propertyName: String?
  /// The expression, in format language, if there is no property.
  public var expression: String?
  /// The kind of the element.
  public var kind = Kind.binary
  /// Whether the order is ascending.
  public var isAscending = true
  /// The transformation of text before it is indexed. Core Data has no such indexes; its editor may keep or remove the collation.
  public var collation = Collation.binary
  /// Parts of the model file that the other properties do not represent.
  package var preserved = PreservedXML()

  /// Creates an element over a property.
  ///
  /// - Parameters:
  ///   - property: The property's name.
  ///   - isAscending: Whether the order is ascending.
  ///   - collation: The transformation of text.
  public init(property: String, isAscending: Bool = true, collation: Collation = .binary) {
    propertyName = property
    self.isAscending = isAscending
    self.collation = collation
  }

  /// Returns a full-text element. All elements of a full-text index must be of this kind.
  public static func fullText(_ property: String) -> FetchIndexElement {
    var element = FetchIndexElement(property: property)
    element.kind = .fullText
    return element
  }

  /// Creates an element over an expression.
  public init(expression: String, isAscending: Bool = true) {
    self.expression = expression
    self.isAscending = isAscending
  }
}
