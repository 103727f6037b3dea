/// A function of the application that merges two values of an attribute.
package struct MergeFunction: Sendable {
  /// The name under which the application has registered it.
  package let name: String
  /// Returns the value merged from a base and two values that were made of it; nil if no function is registered.
  private let body: @Sendable (_ base: FieldValue, _ one: FieldValue, _ other: FieldValue) throws -> FieldValue?

  /// Why values were not merged.
  package enum Failure: Error, Sendable, Hashable {
    /// The device does not have the function.
    case missing
    /// The function has thrown an error of a type, or has returned what the attribute cannot have.
    case failed(String)
    /// The result depends on the order of the values.
    case ordered
  }

  package init(
    _ name: String, _ body: @escaping @Sendable (_ base: FieldValue, _ one: FieldValue, _ other: FieldValue) throws -> FieldValue?
  ) {
    (self.name, self.body) = (name, body)
  }

  /// Returns the merged value.
  ///
  /// The function is called with both orders of the values: a function that depends on the order, or on anything else than its arguments,
  /// would give different values to different devices.
  fileprivate func merge(_ base: FieldValue, _ one: FieldValue, _ other: FieldValue) throws(Failure) -> FieldValue {
    let results: (FieldValue?, FieldValue?)
    do { results = (try body(base, one, other), try body(base, other, one)) } catch {
      throw error as? Failure ?? .failed("\(type(of: error))")
    }
    guard let result = results.0, let swapped = results.1 else { throw .missing }
    if result != swapped { throw .ordered }
    if !result.isPlain { throw .failed("\(FieldValue.self)") }
    return result
  }
}

extension MergeFunction: Hashable {
  package static func == (one: MergeFunction, other: MergeFunction) -> Bool { one.name == other.name }
  package func hash(into hasher: inout Hasher) { hasher.combine(name) }
}

extension ValueVersions {
  /// Returns the value of the attribute, which depends on the versions and on what the function returns only. With a failure, it is that of
  /// the last save.
  ///
  /// The versions are merged in the order of their stamps. A version that equals what it is based on, or the others, needs no function.
  package func merged(by function: MergeFunction?) -> (value: FieldValue, failure: MergeFunction.Failure?) {
    guard let first = versions.first, versions.count > 1 else { return (last, nil) }
    var value = first.value
    var seen = first.baseSeen
    seen.insert(first.stamp)
    for (position, next) in versions.enumerated().dropFirst() {
      let base = base(of: next, and: versions[..<position], seen: seen)
      if value == base {
        value = next.value
      } else if next.value != base, next.value != value {
        guard let function else { return (last, .missing) }
        do { value = try function.merge(base, value, next.value) } catch { return (last, error) }
      }
      seen = seen.joined(with: next.baseSeen)
      seen.insert(next.stamp)
    }
    return (value, nil)
  }

  /// Returns the last value that a version and the earlier ones, which are merged already, are based on.
  ///
  /// - Parameter seen: What the earlier ones have seen.
  private func base(of next: Version, and earlier: ArraySlice<Version>, seen: Seen) -> FieldValue {
    if next.baseSeen.isSubset(of: seen) { return next.base }
    var known = next.baseSeen
    known.insert(next.stamp)
    var base: Version?
    for version in earlier where version.baseSeen.isSubset(of: known) && base?.baseSeen.isSubset(of: version.baseSeen) ?? true {
      base = version
    }
    return base?.base ?? .null
  }
}

extension SyncModel {
  /// Returns the function that merges an attribute; nil if the model does not declare one.
  package func function(for property: PropertyID, of entity: EntityID) -> MergeFunction? { entities[entity]?.functions[property] }

  /// Returns the value that an object has for a field, apart from references to objects that do not exist.
  package func value(of field: Field, of entity: EntityID) -> FieldValue {
    switch field.value {
    case .superseded: .null
    case .counter(let counter): counter.sum
    case .asset(let asset): .asset(asset.content)
    case .versions(let versions): versions.merged(by: function(for: field.property, of: entity)).value
    default: field.value
    }
  }

  /// Returns why the versions of a field are not merged; nil if they are.
  package func mergeFailure(of field: Field, of entity: EntityID) -> MergeFunction.Failure? {
    guard case .versions(let versions) = field.value, versions.versions.count > 1 else { return nil }
    return versions.merged(by: function(for: field.property, of: entity)).failure
  }
}

/// An attribute of an object that shows the value of the last save, because the values of several ones could not be merged.
package struct UnmergedValue: Hashable, Sendable {
  package let id: RecordID
  package let entity: EntityID
  package let property: PropertyID
  package let failure: MergeFunction.Failure

  package init(_ id: RecordID, _ entity: EntityID, _ property: PropertyID, _ failure: MergeFunction.Failure) {
    (self.id, self.entity, self.property, self.failure) = (id, entity, property, failure)
  }
}
