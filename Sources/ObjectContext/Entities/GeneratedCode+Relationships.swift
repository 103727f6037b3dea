extension GeneratedCode {
  // MARK: To-one relationships

  /// Returns the destination of a to-one relationship; nil if there is none.
  @inlinable public static func toOne<Destination: ManagedObject>(at slot: Int, of object: ManagedObject) -> Destination? {
    object.toOne(slot)
  }

  /// Sets or clears a to-one relationship and its inverse.
  ///
  /// - Parameters:
  ///   - destination: The destination; nil for none.
  ///   - slot: The slot of the attribute.
  ///   - object: The object.
  public static func setToOne(_ destination: ManagedObject?, at slot: Int, of object: ManagedObject) {
    object.setToOne(destination, at: slot)
  }

  // MARK: To-many relationships

  /// Returns the members of an ordered to-many relationship.
  @inlinable public static func toManyArray<Member: ManagedObject>(at index: Int, of object: ManagedObject) -> [Member] {
    object.toManyArray(index)
  }

  /// Returns the members of a to-many relationship.
  @inlinable public static func toManySet<Member: ManagedObject>(at index: Int, of object: ManagedObject) -> Set<Member> {
    object.toManySet(index)
  }

  /// Replaces the members of a to-many relationship, and updates their inverses.
  ///
  /// - Parameters:
  ///   - members: The new members.
  ///   - index: The relationship's index.
  ///   - object: The object.
  public static func setToMany(_ members: some Collection<ManagedObject>, at index: Int, of object: ManagedObject) {
    object.setToMany(members, at: index)
  }

  /// Adds a member to a to-many relationship.
  ///
  /// - Parameters:
  ///   - member: The member.
  ///   - index: The relationship's index.
  ///   - object: The object.
  public static func addToToMany(_ member: ManagedObject, at index: Int, of object: ManagedObject) {
    object.addToToMany(member, at: index)
  }

  /// Removes a member from a to-many relationship.
  ///
  /// - Parameters:
  ///   - member: The member.
  ///   - index: The relationship's index.
  ///   - object: The object.
  public static func removeFromToMany(_ member: ManagedObject, at index: Int, of object: ManagedObject) {
    object.removeFromToMany(member, at: index)
  }

  /// Inserts members into an ordered to-many relationship, and moves those that are members already.
  ///
  /// - Parameters:
  ///   - members: The members to insert, in order.
  ///   - position: The position of the first one.
  ///   - index: The relationship's index.
  ///   - object: The object.
  public static func insertIntoToMany(_ members: [ManagedObject], position: Int, at index: Int, of object: ManagedObject) {
    object.insertIntoToMany(members, position: position, at: index)
  }

  /// Inserts a member into an ordered to-many relationship, or moves it if it is a member already.
  ///
  /// - Parameters:
  ///   - member: The member.
  ///   - position: Its position.
  ///   - index: The relationship's index.
  ///   - object: The object.
  public static func insertIntoToMany(_ member: ManagedObject, position: Int, at index: Int, of object: ManagedObject) {
    object.insertIntoToMany(member, position: position, at: index)
  }

  /// Removes the member at a position of an ordered to-many relationship.
  ///
  /// - Parameters:
  ///   - position: The position.
  ///   - index: The relationship's index.
  ///   - object: The object.
  public static func removeFromToMany(position: Int, at index: Int, of object: ManagedObject) {
    object.removeFromToMany(position: position, at: index)
  }

  /// Removes the members at positions of an ordered to-many relationship.
  ///
  /// - Parameters:
  ///   - positions: The positions.
  ///   - index: The relationship's index.
  ///   - object: The object.
  public static func removeFromToMany(positions: some Sequence<Int>, at index: Int, of object: ManagedObject) {
    object.removeFromToMany(positions: positions, at: index)
  }

  /// Replaces the member at a position of an ordered to-many relationship.
  ///
  /// - Parameters:
  ///   - position: The position.
  ///   - member: The new member.
  ///   - index: The relationship's index.
  ///   - object: The object.
  public static func replaceInToMany(position: Int, with member: ManagedObject, at index: Int, of object: ManagedObject) {
    object.replaceInToMany(position: position, with: member, at: index)
  }

  /// Replaces the members at a range of positions of an ordered to-many relationship.
  ///
  /// - Parameters:
  ///   - positions: The positions.
  ///   - members: The new members, in order.
  ///   - index: The relationship's index.
  ///   - object: The object.
  public static func replaceInToMany(_ positions: Range<Int>, with members: [ManagedObject], at index: Int, of object: ManagedObject) {
    object.replaceInToMany(positions, with: members, at: index)
  }

  // MARK: Fetched properties

  /// Returns the objects of a fetched property, in the order of the store.
  public static func fetchedProperty<Object: ManagedObject>(_ name: String, of object: ManagedObject) -> [Object] {
    object.fetchedProperty(name)
  }
}
