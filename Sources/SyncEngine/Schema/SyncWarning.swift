import ObjectModel

/// A part of a model whose merge may surprise, although the model can be synchronized.
package struct SyncWarning: Sendable, Hashable, CustomStringConvertible {
  package enum Reason: String, Sendable, Hashable, CaseIterable {
    /// A count or a sum is merged as a whole.
    case lostIncrements
    /// A collection is merged as a whole.
    case lostElements
    /// A counter can leave its bounds.
    case exceededBounds
    /// An object is deleted with a destination, although the model does not declare that.
    case deletedWithDestination
    /// A to-many relationship can have fewer members than the model allows.
    case exceededCount
    /// Objects can become ancestors of each other.
    case cycle
  }

  package let entity: String
  package let property: String
  package let reason: Reason
  /// What happens, and what to do.
  package let explanation: String

  package var description: String { "\(entity).\(property): \(explanation)" }
}

extension SyncSchema {
  /// What may surprise, in the order of the entities.
  var warnings: [SyncWarning] { model.entities.flatMap(warnings) }

  private func warnings(_ entity: CompiledEntity) -> [SyncWarning] {
    func warning(_ property: String, _ finding: Finding) -> SyncWarning {
      SyncWarning(entity: entity.name, property: property, reason: finding.reason, explanation: finding.explanation)
    }
    let ofSlots = entities[entity.number].properties.flatMap { property -> [SyncWarning] in
      let slot = entity.slots[property.slot]
      guard slot.declaringEntity == entity.number else { return [] }
      let found = [
        slot.attribute.flatMap { Self.warning($0, name: slot.name) }, slot.relationship.flatMap(deletionWarning),
        slot.relationship.flatMap(cycleWarning),
      ]
      return found.compactMap { $0.map { warning(slot.name, $0) } }
    }
    let declared = entity.toManyRelationships.filter { $0.sourceEntity == entity.number && !$0.isTransient }
    return ofSlots + declared.compactMap { relationship in Self.countWarning(relationship).map { warning(relationship.name, $0) } }
  }

  private typealias Finding = (reason: SyncWarning.Reason, explanation: String)

  private static func warning(_ attribute: AttributeDescription, name: String) -> Finding? {
    let words = PropertyWords(name.split(separator: ".").last ?? "")
    switch attribute.syncMergeRule {
    case .latest:
      if attribute.isNumber, words.suggestSum {
        return (.lostIncrements, "concurrent increments are lost, because the later change wins; \(attribute.sumAdvice)")
      }
      if attribute.holdsCollection(words) {
        return (
          .lostElements,
          "concurrent changes of its elements are lost, because the later collection replaces the other one; store the elements as objects of "
            + "a to-many relationship"
        )
      }
      return nil
    case .counter where attribute.validation.minimum != nil || attribute.validation.maximum != nil:
      return (.exceededBounds, "the changes of several devices can add up to a value outside the bounds; check them when you read it")
    case .counter, .firstWriter, .max, .min, .union, .custom: return nil
    }
  }

  /// A required destination that is deleted on one device takes the object with it, also one that another device has moved there.
  ///
  /// With the delete rule Deny, the object keeps the destination instead.
  private func deletionWarning(_ relationship: CompiledRelationship) -> Finding? {
    guard !relationship.isOptional else { return nil }
    let inverse = model.inverse(of: relationship)
    if let rule = inverse?.deleteRule, [.cascade, .deny].contains(rule) { return nil }
    let destination = model.entities[relationship.destinationEntity].name
    let advice =
      inverse.map { "declare the delete rule Cascade for \(destination).\($0.name)" } ?? "give it an inverse with the delete rule Cascade"
    return (
      .deletedWithDestination,
      "the destination is required, so the object is deleted when a device deletes the destination; make the relationship optional, or "
        + advice
    )
  }

  /// Two devices can move two objects of a tree into each other.
  private func cycleWarning(_ relationship: CompiledRelationship) -> Finding? {
    guard model.isWithinHierarchy(relationship), let inverse = model.inverse(of: relationship), inverse.isToMany,
      !model.isTree(relationship)
    else { return nil }
    let advice =
      inverse.deleteRule == .cascade
      ? "make the relationship optional"
      : "declare the delete rule Cascade for \(model.entities[inverse.sourceEntity].name).\(inverse.name)"
    return (
      .cycle,
      "two devices can move objects into each other, which are then ancestors of each other; if that must not be, \(advice)"
    )
  }

  /// Several devices can each leave enough members, and together too few. What exceeds a maximum is no member.
  private static func countWarning(_ relationship: CompiledRelationship) -> Finding? {
    let description = relationship.relationshipDescription
    guard description.minCount > 0 else { return nil }
    return (
      .exceededCount,
      "several devices can together remove so many members that fewer than the minimum remain; check the number when you read them"
    )
  }
}

extension AttributeDescription {
  /// Whether the attribute is a number, and not that of an enumeration or an option set.
  fileprivate var isNumber: Bool { type.isNumeric && valueClassName == nil && userInfo["swiftType"] == nil }

  fileprivate var sumAdvice: String {
    type == .decimal
      ? "store each change as an object, and derive the sum, because a Decimal cannot be a counter"
      : "declare the merge rule “\(SyncMergeRule.counter.rawValue)”"
  }

  fileprivate func holdsCollection(_ words: PropertyWords) -> Bool {
    switch type {
    case .binary: return words.suggestCollection
    case .transformable:
      guard let name = valueClassName else { return words.suggestCollection || words.isPlural }
      return name.hasPrefix("[") || ["Array<", "Set<", "Dictionary<"].contains { name.hasPrefix($0) }
        || ["NSArray", "NSMutableArray", "NSSet", "NSMutableSet", "NSOrderedSet", "NSDictionary", "NSMutableDictionary"].contains(name)
    default: return false
    }
  }
}

/// The words of a property's name, such as `view` and `count` of `viewCount`.
private struct PropertyWords {
  private let words: [String]

  init(_ name: Substring) {
    var words: [String] = []
    var word = ""
    let letters = Array(name)
    for (position, letter) in letters.enumerated() {
      let isLetter = letter.isLetter
      // In `URLCount`, the last uppercase letter begins a word.
      let followsLowercase = position > 0 && !letters[position - 1].isUppercase
      let precedesLowercase = position + 1 < letters.count && letters[position + 1].isLowercase
      if !isLetter || letter.isUppercase && (followsLowercase || precedesLowercase) {
        if !word.isEmpty { words.append(word) }
        word = ""
      }
      if isLetter { word += letter.lowercased() }
    }
    self.words = word.isEmpty ? words : words + [word]
  }

  /// Whether the name is that of a count or a sum, and not that of a limit of one, or of the size of the object's content.
  var suggestSum: Bool {
    words.contains { Self.sums.contains($0) } && !words.contains { Self.limits.contains($0) || Self.units.contains($0) }
  }
  /// Whether the name is that of several values.
  var suggestCollection: Bool { words.last.map { Self.collections.contains($0) } ?? false }
  /// Whether the name has a plural ending.
  var isPlural: Bool { words.last.map { $0.count > 3 && $0.hasSuffix("s") && !$0.hasSuffix("ss") && !$0.hasSuffix("us") } ?? false }

  private static let sums: Set<String> = [
    "balance", "clicks", "count", "counter", "counts", "credits", "dislikes", "downloads", "hits", "inventory", "likes", "plays", "points",
    "qty", "quantity", "score", "stock", "subtotal", "sum", "tally", "total", "totals", "upvotes", "usages", "views", "visits", "votes",
  ]
  private static let limits: Set<String> = [
    "goal", "initial", "limit", "max", "maximal", "maximum", "min", "minimal", "minimum", "target", "threshold",
  ]
  private static let units: Set<String> = [
    "bit", "bits", "byte", "bytes", "character", "characters", "column", "columns", "line", "lines", "page", "pages", "pixel", "pixels",
    "row", "rows", "word", "words",
  ]
  private static let collections: Set<String> = [
    "array", "collection", "dictionary", "elements", "entries", "ids", "items", "json", "keywords", "list", "map", "members", "set", "tags",
  ]
}
