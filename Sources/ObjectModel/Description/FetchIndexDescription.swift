// FetchIndexDescription: an index over an entity's table.

/// An index of an entity: what the store keeps sorted, so that fetches find objects without looking at all of them.
///
/// ```swift
/// var book = EntityDescription(name: "Book")
/// book.indexes.append(FetchIndexDescription(name: "byTitle", elements: [.ascending("title", collation: .caseInsensitive), .descending("published")]))
/// ```
///
/// An index never changes what a fetch returns. It costs room in the file, and time in each save that changes one of its properties. A store gets a new index
/// when it is next opened for writing, in the time that it takes to sort all rows of the entity; no migration is needed. ``FetchExplanation`` tells
/// which indexes a fetch uses.
public struct FetchIndexDescription: Sendable, Hashable {
  /// The index's name, unique in its entity.
  public var name: String
  /// Its elements, most significant first.
  public var elements: [FetchIndexElement]
  /// The predicate, in format language, of the rows that a partial index holds; nil for all.
  public var partialIndexPredicate: String?
  /// What a model file says beyond the other properties.
  package var preserved = PreservedXML()

  /// Makes an index.
  ///
  /// - Parameters:
  ///   - name: The index's name.
  ///   - elements: What is indexed, most significant first.
  ///   - partialIndexPredicate: Which rows are indexed, in format language; nil for all.
  public init(name: String, elements: [FetchIndexElement], partialIndexPredicate: String? = nil) {
    self.name = name
    self.elements = elements
    self.partialIndexPredicate = partialIndexPredicate
  }

  /// Whether it is over the words of texts.
  package var isFullText: Bool { elements.first?.kind == .fullText }
}

/// One element of an index.
public struct FetchIndexElement: Sendable, Hashable {
  /// How the element is indexed.
  public enum Kind: String, Sendable, Hashable {
    /// By order.
    case binary = "Binary"
    /// By range in several dimensions.
    case rtree = "RTree"
    /// By the words of a text, for SEARCH. Core Data has no such index: its editor may keep it or leave it out.
    case fullText = "FullText"
  }
  /// How texts are folded before they are indexed.
  public enum Collation: String, Sendable, Hashable, CaseIterable {
    /// Texts are not folded: they are indexed by their UTF-8 bytes.
    case binary
    /// Upper and lower case are one: for comparisons with `[c]`, and for orders without case.
    case caseInsensitive
    /// Accents are dropped: for comparisons with `[d]`.
    case diacriticInsensitive
    /// Both: for comparisons with `[cd]`.
    case caseAndDiacriticInsensitive
  }
  /// The name of the attribute or to-one relationship; nil for an expression.
  public var propertyName: String?
  /// The expression, in format language, when there is no property.
  public var expression: String?
  /// How it is indexed.
  public var kind = Kind.binary
  /// Whether lower values come first.
  public var isAscending = true
  /// How texts are folded before they are indexed. Core Data has no such index: its editor may keep it or leave it out.
  public var collation = Collation.binary
  /// What a model file says beyond the other properties.
  package var preserved = PreservedXML()

  /// An element over a property.
  ///
  /// - Parameters:
  ///   - property: The property's name.
  ///   - isAscending: Whether the smallest value comes first.
  ///   - collation: How texts are folded.
  public init(property: String, isAscending: Bool = true, collation: Collation = .binary) {
    propertyName = property
    self.isAscending = isAscending
    self.collation = collation
  }

  /// An element over the words of a text. All elements of such an index are of this kind.
  public static func fullText(_ property: String) -> FetchIndexElement {
    var element = FetchIndexElement(property: property)
    element.kind = .fullText
    return element
  }

  /// An element over an expression.
  public init(expression: String, isAscending: Bool = true) {
    self.expression = expression
    self.isAscending = isAscending
  }
}
