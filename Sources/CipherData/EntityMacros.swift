#if Macros
  /// Declares an entity as a class. The entity's properties are the stored properties with `@Attribute`, `@Relationship`, and
  /// `@FetchedProperty`. Requires the package trait `Macros`.
  ///
  /// ```swift
  /// @Entity(.index("byPages", .descending("pages"))) final class Book: ManagedObject {
  ///   @Attribute var title: String
  ///   @Attribute(.unique, .length(1...20)) var isbn: String?
  ///   @Attribute(.range(0...)) var pages: Int32 = 0
  ///   @Attribute(.composite) var format: Format?
  ///   @Relationship(inverse: \Author.books) var author: Author?
  ///   @Relationship(deleteRule: .cascade) var chapters: [Chapter]
  ///   @FetchedProperty(where: "title == $FETCH_SOURCE.title") var editions: [Book]
  /// }
  ///
  /// let model = ManagedObjectModel(Book.self, Author.self)
  /// ```
  ///
  /// A property whose type is not optional is required. Its initial value is the attribute's default value; without one, a missing value
  /// reads as the type's empty value. The type of a property determines how it is stored:
  ///
  /// - A type with raw values is stored as its raw value.
  /// - A struct with ``Composite(name:_:)`` and the option `.composite` is stored as its parts.
  /// - Any other `Codable` type is transformable.
  ///
  /// To-many relationships get `addToChapters(_:)` and the other functions of generated classes. Attributes with `.externalStorage` also
  /// get a stream (`scanStream`). The model, its container, and typed queries are used as with generated classes. The class inherits from
  /// `ManagedObject` or from another `@Entity` class, which is the superentity.
  ///
  /// - Parameters:
  ///   - name: The name of the entity, a literal; `nil` for the name of the class.
  ///   - options: Further options of the entity.
  @attached(member, names: arbitrary)
  @attached(memberAttribute)
  @attached(extension, conformances: EntityClass, TypedManagedObject, FetchKeyPathNaming, Identifiable)
  public macro Entity(name: String? = nil, _ options: EntityOption...) = #externalMacro(module: "CipherDataMacros", type: "EntityMacro")

  /// Declares a kind of composite value as a struct. Its properties, all with `@Attribute`, are the parts, which can themselves be
  /// composites.
  ///
  /// ```swift
  /// @Composite struct Address {
  ///   @Attribute var street: String?
  ///   @Attribute(.length(1...80)) var city: String
  ///   @Attribute(.composite) var place: Place?
  /// }
  /// ```
  ///
  /// A class stores one as `@Attribute(.composite) var home: Address?`. Typed queries refer to parts by key paths:
  /// `$0[\.home][\.city] == "Portland"`. The struct gets an initializer with all parts, unless it declares an initializer itself. It is
  /// `Sendable` and `Hashable`.
  ///
  /// - Parameters:
  ///   - name: The name of the kind, a literal; `nil` for the name of the struct.
  ///   - options: Further options of the kind.
  @attached(member, names: arbitrary)
  @attached(extension, conformances: EntityComposite, Hashable)
  public macro Composite(name: String? = nil, _ options: CompositeOption...) =
    #externalMacro(module: "CipherDataMacros", type: "CompositeMacro")

  /// Declares an attribute of the class's entity, or a part of the struct's kind of composite value. See ``Entity(name:_:)``.
  ///
  /// - Parameter options: Options of the attribute in addition to its name, type, and default value.
  @attached(peer)
  public macro Attribute(_ options: AttributeOption...) = #externalMacro(module: "CipherDataMacros", type: "MarkerMacro")

  /// Declares a relationship of the class's entity: `Author?` is to-one, `Set<Book>` is to-many, and `[Book]` is ordered to-many.
  ///
  /// - Parameters:
  ///   - deleteRule: The effect of deleting the object on the objects that it refers to.
  ///   - inverse: The inverse relationship. One of the two sides specifies it.
  ///   - options: Further options of the relationship.
  @attached(peer)
  public macro Relationship(deleteRule: DeleteRule = .nullify, inverse: AnyKeyPath? = nil, _ options: RelationshipOption...) =
    #externalMacro(module: "CipherDataMacros", type: "MarkerMacro")

  /// Declares a fetched property of the class's entity, such as `[Plant]`: the objects of a class that match a predicate. The property is
  /// read-only.
  ///
  /// - Parameters:
  ///   - predicate: The predicate in the format language, in which `$FETCH_SOURCE` is the object; `nil` for all objects.
  ///   - options: Further options of the property.
  @attached(peer)
  public macro FetchedProperty(where predicate: String? = nil, _ options: FetchedPropertyOption...) =
    #externalMacro(module: "CipherDataMacros", type: "MarkerMacro")

  /// Creates a condition on objects of a class with ``Entity(name:_:)``, written over its properties as for an object in memory.
  ///
  /// ```swift
  /// let long = #FetchCondition<Book> { $0.pages > 500 && $0.author?.name == "Ada" }
  /// let books = try context.fetch(Book.all.where(#FetchCondition { !$0.isRead && $0.chapters.contains { $0.pages > 50 } }))
  /// ```
  ///
  /// The compiler checks the closure as plain Swift, with its usual messages. The closure is never called: the macro converts it to the
  /// equivalent typed condition over key paths. It must be one expression of the following elements; anything else is a compile-time error
  /// at its position.
  ///
  /// - Comparisons, `&&`, `||`, `!`, Boolean properties, arithmetic, `??`, `is`, and optional chaining (`!` never traps)
  /// - Strings: `hasPrefix`, `starts(with:)`, `hasSuffix`, `contains`, `lowercased`, `uppercased`, `count`, and `isEmpty`
  /// - To-many relationships: `contains`, `allSatisfy`, `filter`, `count`, `isEmpty`, `first`, `last`, and subscripts
  /// - `contains` of lists and ranges that the closure captures
  ///
  /// Expressions without properties are evaluated when the condition is created. A property of a related object that is itself called
  /// `count`, `isEmpty`, `first`, `last`, or `rawValue` requires a typed closure. The semantics are those of predicates: a missing value
  /// stays missing, and texts are compared by their bytes.
  ///
  /// - Parameter condition: One expression over the properties of an object.
  @freestanding(expression)
  public macro FetchCondition<FetchedClass: FetchKeyPathNaming>(
    _ condition: (FetchedClass) throws -> Bool
  ) -> FetchCondition<FetchedClass> = #externalMacro(module: "CipherDataMacros", type: "ConditionMacro")

  /// Generates the accessors of a property. ``Entity(name:_:)`` adds this macro to properties.
  @attached(accessor)
  public macro EntityProperty(_ layout: EntityLayout?, _ index: Int) =
    #externalMacro(module: "CipherDataMacros", type: "EntityPropertyMacro")
#endif
