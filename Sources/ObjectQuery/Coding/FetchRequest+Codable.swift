// Default values are omitted from the encoded form.
import Foundation
import ObjectModel

extension FetchSortDescriptor: Codable {
  private enum Key: String, CodingKey {
    case expression = "by"
    case isDescending = "descending"
    case comparison, locale
  }

  /// Decodes a sort key.
  ///
  /// - Throws: `DecodingError` with the coding path.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: Key.self)
    self.init(
      expression: try container.decode(FetchExpression.self, forKey: .expression),
      ascending: try container.decodeIfPresent(Bool.self, forKey: .isDescending) != true,
      comparison: try container.decodeIfPresent(Comparison.self, forKey: .comparison) ?? .binary,
      locale: try container.decodeIfPresent(String.self, forKey: .locale).map { Locale(identifier: $0) })
  }

  /// Encodes the sort key.
  ///
  /// - Throws: `EncodingError` if its expression cannot be encoded.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: Key.self)
    try container.encode(expression, forKey: .expression)
    if !isAscending { try container.encode(true, forKey: .isDescending) }
    if comparison != .binary { try container.encode(comparison, forKey: .comparison) }
    try container.encodeIfPresent(locale?.identifier, forKey: .locale)
  }
}

extension FetchSortDescriptor.Comparison: Codable {}

extension FetchProperty: Codable {
  private enum Key: String, CodingKey {
    case name, expression, resultType
  }

  /// Decodes a property. A string is a key path; an object has a name and an expression.
  ///
  /// - Throws: `DecodingError` with the coding path.
  public init(from decoder: any Decoder) throws {
    if let container = try? decoder.singleValueContainer(), let path = try? container.decode(String.self) {
      self = .keyPath(path)
      return
    }
    let container = try decoder.container(keyedBy: Key.self)
    let name = try container.decodeIfPresent(String.self, forKey: .resultType)
    let type = name.flatMap(AttributeType.init(rawValue:))
    if let name, type == nil {
      throw DecodingError.dataCorruptedError(forKey: .resultType, in: container, debugDescription: "There is no attribute type \(name).")
    }
    let expression = try container.decode(FetchExpression.self, forKey: .expression)
    self = .expression(expression, as: try container.decode(String.self, forKey: .name), resultType: type)
  }

  /// Encodes the property.
  ///
  /// - Throws: `EncodingError` if its expression cannot be encoded.
  public func encode(to encoder: any Encoder) throws {
    switch self {
    case .keyPath(let path):
      var container = encoder.singleValueContainer()
      try container.encode(path)
    case .expression(let description):
      var container = encoder.container(keyedBy: Key.self)
      try container.encode(description.name, forKey: .name)
      try container.encode(description.expression, forKey: .expression)
      try container.encodeIfPresent(description.resultType?.rawValue, forKey: .resultType)
    }
  }
}

extension FetchSpecification: Codable {
  private enum Key: String, CodingKey {
    case entityName, predicate, sortDescriptors, fetchLimit, fetchOffset, fetchBatchSize, resultType, includesSubentities
    case includesPendingChanges, allowsInMemoryFiltering, includesPropertyValues, returnsObjectsAsFaults, shouldRefreshRefetchedObjects
    case relationshipKeyPathsForPrefetching, propertiesToFetch, propertiesToGroupBy, havingPredicate, returnsDistinctResults, affectedStores
  }

  /// Decodes a specification. Missing values have their defaults.
  ///
  /// - Throws: `DecodingError` with the coding path.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: Key.self)
    self.init(
      entityName: try container.decode(String.self, forKey: .entityName),
      predicate: try container.decodeIfPresent(FetchPredicate.self, forKey: .predicate))
    func read<Value: Decodable>(_ key: Key, _ property: WritableKeyPath<FetchSpecification, Value>) throws {
      if let value = try container.decodeIfPresent(Value.self, forKey: key) { self[keyPath: property] = value }
    }
    try read(.sortDescriptors, \.sortDescriptors)
    try read(.fetchLimit, \.fetchLimit)
    try read(.fetchOffset, \.fetchOffset)
    try read(.fetchBatchSize, \.fetchBatchSize)
    try read(.resultType, \.resultType)
    try read(.includesSubentities, \.includesSubentities)
    try read(.includesPendingChanges, \.includesPendingChanges)
    try read(.allowsInMemoryFiltering, \.allowsInMemoryFiltering)
    try read(.includesPropertyValues, \.includesPropertyValues)
    try read(.returnsObjectsAsFaults, \.returnsObjectsAsFaults)
    try read(.shouldRefreshRefetchedObjects, \.shouldRefreshRefetchedObjects)
    try read(.relationshipKeyPathsForPrefetching, \.relationshipKeyPathsForPrefetching)
    try read(.propertiesToFetch, \.propertiesToFetch)
    try read(.propertiesToGroupBy, \.propertiesToGroupBy)
    havingPredicate = try container.decodeIfPresent(FetchPredicate.self, forKey: .havingPredicate)
    try read(.returnsDistinctResults, \.returnsDistinctResults)
    affectedStores = try container.decodeIfPresent([String].self, forKey: .affectedStores)
  }

  /// Encodes the specification.
  ///
  /// - Throws: `EncodingError` if a predicate cannot be encoded.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: Key.self)
    let usual = FetchSpecification(entityName: entityName)
    func write<Value: Encodable & Equatable>(_ key: Key, _ property: KeyPath<FetchSpecification, Value>) throws {
      if self[keyPath: property] != usual[keyPath: property] { try container.encode(self[keyPath: property], forKey: key) }
    }
    try container.encode(entityName, forKey: .entityName)
    try write(.predicate, \.predicate)
    try write(.sortDescriptors, \.sortDescriptors)
    try write(.fetchLimit, \.fetchLimit)
    try write(.fetchOffset, \.fetchOffset)
    try write(.fetchBatchSize, \.fetchBatchSize)
    try write(.resultType, \.resultType)
    try write(.includesSubentities, \.includesSubentities)
    try write(.includesPendingChanges, \.includesPendingChanges)
    try write(.allowsInMemoryFiltering, \.allowsInMemoryFiltering)
    try write(.includesPropertyValues, \.includesPropertyValues)
    try write(.returnsObjectsAsFaults, \.returnsObjectsAsFaults)
    try write(.shouldRefreshRefetchedObjects, \.shouldRefreshRefetchedObjects)
    try write(.relationshipKeyPathsForPrefetching, \.relationshipKeyPathsForPrefetching)
    try write(.propertiesToFetch, \.propertiesToFetch)
    try write(.propertiesToGroupBy, \.propertiesToGroupBy)
    try write(.havingPredicate, \.havingPredicate)
    try write(.returnsDistinctResults, \.returnsDistinctResults)
    try write(.affectedStores, \.affectedStores)
  }
}

extension FetchRequest: Codable {
  /// Decodes a request. Its result type is that of the Swift type, regardless of the encoded one.
  ///
  /// - Throws: `DecodingError` with the coding path.
  public init(from decoder: any Decoder) throws {
    specification = try FetchSpecification(from: decoder)
    specification.resultType = Result.fetchResultType
  }

  /// Encodes the request.
  ///
  /// - Throws: `EncodingError` if a predicate cannot be encoded.
  public func encode(to encoder: any Encoder) throws { try specification.encode(to: encoder) }
}
