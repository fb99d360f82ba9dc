/**
 * Words that indicate the category of a conversation, in English, German, French and Spanish. Lower case and
 * without accents. A word also matches slightly longer words that begin with it; a word of six letters or
 * more also matches compounds that end with it. Words of two categories are listed in both.
 */
import type { Category } from '../../../core/domain/conversations/categories.ts';

export const CATEGORY_WORDS: Readonly<Partial<Record<Category, string>>> = {
  personal: `diary journal myself routine wardrobe haircut groceries grocery shopping errand recorder domestic
    kitchen cook cooking onion garlic oven butter recipe flour milk bread eggs rice soup salt pepper tomato potato cheese
    brake tires garage laundry dishes receipt shoes trousers jacket tailor suit fitting piano
    tagebuch gedanken einkauf einkaufen rezept backen kochen kuchen teig ofen zwiebel knoblauch mehl zucker butter milch eier ente suppe
    topf pfanne salz pfeffer kartoffel werkstatt reifen notiz moebel mobel schrank regal sofa kasse quittung schuhe
    journal carnet courses marche recette cuisine beurre farine oeufs oignon tomate fromage legumes panier fraise chaussure garagiste
    diario compra receta cocina horno mantequilla harina huevos cebolla tortilla patata aceite sarten ajo queso mercado lista zapatos
    saucepan stove grill simmer boil dough yeast bake bakery spices herbs vegetables supermarket checkout
    vacuum cleaning dishwasher fridge freezer sewing knitting zipper sleeve mirror perfume shaver backofen
    ruhren pfeffern braten kochtopf gewurz gemuse supermarkt waschmaschine wasche spulmaschine kuhlschrank putzen
    friseur selbstgesprach merkzettel erinnerung vorsatz casserole poele gateau mijoter supermarche lessive
    coiffeur vaisselle frigo poivre legume olla guiso supermercado lavadora peluquero nevera pimienta verdura
    bicycle puncture brakes haircut dentist errands hardware screws drill bulb shelf drawer tap plumber kettle toaster broom mop
    parcel package postman stamp envelope washing ironing wardrobe zip hem button chores household repair spare
    fahrrad bremse bremsbelage gangschaltung fahrradladen paket post briefkasten gluhbirne schraube bohrer dubel muell mull
    herd backofen staubsauger waschekorb bugeln haushalt putzplan schrauben reparatur ersatzteil baumarkt drogerie klopapier
    sicherungskasten elektriker schlusseldienst anderungsschneiderei knopf naht
    ampoule vis perceuse foret quincaillerie bricolage colis facteur poubelle evier joint menage aspirateur repassage courses
    croquettes pressing couture ourlet bouton velo pneu garage vidange menagere frigidaire
    bombilla tornillo taladro ferreteria paquete cartero basura grifo plancha fregona aspiradora limpieza recibo luz
    coche taller pieza matricula itv revision ruedas aceite bici pan leche fruta carniceria panaderia recados tareas
    recipe lentils tomato pan boil simmer parsley oven groceries market bins recycling
    linsen zwiebeln essig lorbeer petersilie markt altpapier tonne mull anschwitzen umruhren akkuschrauber brett fasser streichen floss
    marmite persil poubelles tri oignons eplucher orchidee cadeau cles
    comino sal receta pelar tomates aceite fuego armario mesa hueco muebles regalo`,
  education: `school teacher class classroom homework exam lesson student university college lecture tutor study semester
    professor curriculum campus kindergarten degree thesis chapter essay pupil fraction math algebra derivation equation quiz
    schule lehrer lehrerin unterricht klasse hausaufgabe prufung klausur studium universitat professor vorlesung seminar zeugnis
    elternabend schuler mathe diktat referat aufsatz rechnen lernen semester dozent
    ecole lycee college professeur cours devoirs examen etudiant universite lecon classe eleve maitresse rentree
    escuela colegio profesor profesora clase deberes examen universidad alumno asignatura leccion instituto
    dissertation lecturer diploma revision tuition headmaster principal worksheet textbook vocabulary grammar
    spelling kurs abitur hausarbeit nachhilfe lehrbuch vokabeln schulleiter klassenfahrt ferien zeugnisse
    elternsprechtag dozentin kommilitone memoire soutenance lyceen collegien proviseur bulletin dictee conjugaison
    tesis apuntes bachillerato selectividad maestro maestra trimestre redaccion
    pupil teacher reading dyslexia classmates maths geography biology uni
    legasthenie elternsprechtag klassenlehrerin schulpsychologe klassenfahrt gymnasium grundschule abitur uni biologie studiere
    devoirs maths institutrice brevet orthographe
    tutoria tutora autorizacion instituto examen deberes mates lengua
    slides oral presentation partner lecturer exercise practice
    vhs kurs ubungen seite referat gruppenarbeit mitschuler vortrag
    expose diapos oral amphi partiel semestre economie
    diapositivas exposicion companeros asignaturas`,
  health: `doctor hospital medicine health pain headache fever nurse dentist therapy symptom diet vitamin clinic prescription
    surgery blood allergy allergic illness sick workout calorie pharmacy vaccine physio knee shoulder milligrams dose tablet pill
    dizzy rash glasses optician eyes lens operation injury stretch ankle muscle tooth teeth cough
    arzt arztin krankenhaus medikament medizin schmerz fieber tablette rezept impfung allergie praxis krank knie schulter rucken
    saft husten ohr zahnarzt apotheke blutdruck operation verband salbe therapie diagnose klinik milliliter
    medecin docteur hopital medicament sante douleur fievre ordonnance pharmacie allergie malade genou dos comprime kine vaccin
    medico hospital medicina salud dolor fiebre receta farmacia alergia alergico enfermo rodilla pastilla radiografia espalda lesion hielo cirugia
    surgeon specialist checkup cholesterol diabetes insulin asthma antibiotics infection wound bandage stitches
    xray scan pulse cast crutches hausarzt hausarztin uberweisung befund rontgen spritze antibiotikum
    entzundung wunde blut puls krankenkasse krankschreibung ruckenschmerzen kopfschmerzen allergisch schlaf
    ubungen kinesitherapeute generaliste radio analyse sang piqure antibiotique tension platre bequille mutuelle
    migraine fisioterapeuta analisis sangre vacuna antibiotico inflamacion herida rehabilitacion ejercicios
    asthma coeliac glaucoma hip prescription surgeon dose drops ointment bleeding swelling hearing aspirin ibuprofen
    hausarztin facharzt hufte wirbel spritze rontgen ibuprofen blutverdunner allergologe tropfen physio krankengymnastik
    fieberthermometer schwindel ubelkeit durchfall erkaltung grippe antikorper
    allergologue asthmatique asthme adrenaline crustaces sirop gouttes kinesitherapie toux rhume grippe bosse tests secretariat
    oido tapon gotas audifono recepcion consulta doctora doctor alergologo jarabe tos gripe resfriado tension mareo
    leg stick swells stretch ice scan stiff vertigo exercises physiotherapist
    schienbein bein steif humpeln gymnastik salbe rezeptfrei
    lunettes opticien mutuelle kinesi raideur
    gafas optica fisio rigidez pierna`,
  finance: `money bank loan mortgage savings invest investment stock tax credit debt payment salary insurance
    budget account dividend portfolio bitcoin bill deposit broker transfer iban fees percent policy premium claim payslip refund
    geld bank kredit hypothek sparkonto aktien steuer zinsen gehalt versicherung konto uberweisung gebuhren kreditkarte depot saule
    schaden selbstbeteiligung police beitrag tilgung fonds sparen anlage
    argent banque credit pret epargne impot salaire retraite assurance compte virement facture frais hypotheque
    dinero banco credito hipoteca ahorro impuesto sueldo seguro cuenta transferencia factura comision prestamo
    mortgages lender fund shares bond inflation currency exchange overdraft statement cash receipt accountant zins
    kontostand dispo uberziehung aktie steuererklarung finanzamt steuerberater bausparer darlehen laufzeit
    festgeld abbuchung lastschrift interets prelevement decouvert placement bourse declaration fisc taux
    mensualite intereses hipotecario inversion acciones hacienda declaracion comisiones tarjeta
    transfer lender pension
    dispo girokonto bausparvertrag sparbuch uberweisen rentenversicherung pension
    pret immobilier taux releve releves pension mensualites livret revenus conseillere
    cuota nomina pension renta
    pin gift refund swindle scam cheque withdraw payee installment bankruptcy allowance invoice expenses
    karte girokarte pin kontonummer kontoauszug bankberater filiale uberwiesen umsatzsteuer steuernummer mahnung rate kleinkredit
    carte bleue conseiller agence virer chequier rib echeance remboursement cotisation
    sucursal cajero transferir domiciliacion recibo cobro deuda plazos ahorros`,
  legal: `lawyer court contract law legal judge lawsuit attorney trial clause liability patent copyright sue evidence verdict notary
    anwalt gericht vertrag gesetz recht klage richter notar haftung paragraf paragraph bgb urteil anfechtung privatrecht schuldner glaubiger
    avocat tribunal contrat loi juge notaire proces
    abogado tribunal contrato ley juez notario demanda juicio
    solicitor barrister plaintiff defendant testament inheritance custody divorce statute rechtsanwalt klager
    beklagter erbe sorgerecht scheidung klausel anspruch willenserklarung gesetzbuch kaufvertrag heritage garde
    plaignant testamento herencia divorcio custodia clausula
    umsatzsteuer gewerbe rechtslage kleinunternehmer`,
  philosophy: `philosophy ethics moral morality existence metaphysics socrates plato kant nietzsche stoic philosophie ethik sein
    existenz filosofia etica morale existentialisme`,
  spiritual: `prayer pray church faith bible temple mosque meditation soul spiritual blessing sermon chapel priest hymn
    gebet kirche glaube bibel pfarrer gottesdienst seele segen dieu priere eglise priere oracion iglesia misa fe`,
  science: `science scientist experiment physics chemistry biology laboratory molecule atom theory hypothesis telescope planet gene
    quantum research moon tide species bacteria yeast transmitter resonate enzyme
    wissenschaft forschung physik chemie biologie labor versuch molekul atom theorie planet bakterien
    science recherche physique chimie biologie laboratoire molecule theorie planete bacterie
    ciencia investigacion fisica quimica biologia laboratorio molecula teoria planeta
    astronomy galaxy gravity electron evolution fossil climate ocean fish whale cell protein microscope astronomie
    galaxie schwerkraft elektron klima ozean zelle eiweiss mikroskop gravite fossile climat cellule proteine
    astronomia galaxia gravedad evolucion fosil clima oceano celula proteina
    colony larva species enzyme reaction
    abeille ouvriere larve espece
    colmena especie`,
  entrepreneurship: `startup founder pitch investor venture bootstrap accelerator entrepreneur seed valuation grunder grunden
    unternehmer fondateur investisseur emprendedor fundador inversor`,
  parenting: `baby toddler diaper bedtime daycare nanny pregnant pregnancy stroller parenting breastfeeding nappy nappies mommy mummy
    kid kids child homework playground teddy pyjamas daddy lunchbox swimming
    baby kleinkind windel kita kindergarten kinderwagen schwanger mama kind kinder geburtstag spielplatz gutenacht maus einladungen
    bebe couche creche nounou enceinte enfant maman biberon doudou
    bebe panal guarderia embarazada nino nina hijo hija mama
    daughter babysitter crib potty tantrum teething weaning pushchair bedtimes naptime playdate cuddle lullaby
    tochterchen sohnchen schlafenszeit einschlafen kuscheltier schnuller flaschchen windeln krabbeln
    gutenachtgeschichte taufe patentante dodo calin gouter maternelle cuento dormir chupete ninera
    cuna merienda
    recorder trampoline nursery childminder potty unicorn crusts
    zahnfee kuscheln einschulung elternzeit laterne bastelkleber kinderarzt sandkasten schulranzen
    goute doudous cartable nounours cantine rentree toboggan
    cole cartilla chupetes parque columpio disfraz merendar agenda`,
  romantic: `boyfriend girlfriend romantic kiss wedding marry valentine fiance engagement verliebt
    hochzeit kuss heiraten amoureux mariage fiancailles novio novia boda beso `,
  travel: `station ticket flight airport hotel trip travel journey passport luggage vacation holiday plane bus airline tourist
    itinerary suitcase booking visa gate sleeper conductor platform taxi motorway exit toll petrol driving embassy consulate
    bahn bahnhof fahrkarte flug flughafen hotel reise koffer urlaub zug fahrschein gleis schaffner anschluss zimmer gepack
    gare billet vol aeroport hotel voyage passeport valise vacances avion quai
    tren estacion billete vuelo aeropuerto hotel viaje pasaporte maleta vacaciones habitacion avion playa recepcion reserva desayuno
    terminal departure arrival boarding reservation hostel balcony sightseeing museum ferry cruise
    border customs rental hire abflug ankunft reservierung zimmerschlussel balkon rundreise stadtplan fahre
    grenze zoll mietwagen verspatung bahnsteig autobahn stau umsteigen chambre balcon visite frontiere douane
    voiture retard autoroute peage sejour reservado excursion mapa ferri frontera aduana alquiler retraso
    autopista peaje estancia
    airport flight hostel pickup gate rental
    nachtzug tickets bezirk zugfahrt abfahrt wien hotelzimmer
    tgv billets voie depart refuge rando location aeroport
    vuelos billetes andén anden hostal maletas aerolinea escala
    taxi cab driver aeroport suitcase luggage lima madrid flight boarding
    taxifahrer koffer flug abflug gepack
    chauffeur bagages embarquement decollage
    taxista equipaje aterrice despegue aterrizar`,
  inspiration: `inspire inspiration dream motivation motivate courage gratitude grateful believe passion mut dankbar traum
    inspiration motivation reve gratitude inspiracion motivacion sueno gratitud`,
  technology: `computer software app code server laptop phone program programming algorithm database robot website api browser
    bug deploy gpu battery device queue timeout worker typescript python merge repository branch pull compile parser
    maintainer release script proxy certificate import microphone
    rechner programm datenbank handy datei bildschirm drucker
    ordinateur logiciel serveur telephone programme fichier ecran imprimante
    ordenador programa servidor telefono archivo pantalla impresora
    programmer developer debugging terminal frontend backend commit docker linux windows install password
    login wifi router keyboard screen smartphone apps cloud chip entwickler programmierer fehlermeldung
    quellcode passwort anmeldung installieren kabel tastatur netzwerk rechenzentrum developpeur
    clavier reseau bogue desarrollador contrasena actualizacion teclado
    certificate migration hosting laptop charger update
    aktualisierung ladegerat einloggen passwort
      imprimante chargeur wifi
    contrasena cargador actualizar impresora`,
  business: `customer sales market revenue company business product profit supplier strategy brand invoice partner quarter
    offer quote contract kunde kunden angebot auftrag umsatz firma lieferant rechnung vertrieb gewinn geschaft
    entreprise vente produit fournisseur devis facture chiffre societe
    empresa venta producto proveedor presupuesto negocio factura
    delivery margin wholesale retail purchase procurement negotiate shipment warehouse forecast
    turnover lieferung marge grosshandel einkaufspreis verhandeln konditionen bestellung kundin
    geschaftsfuhrer messe liefertermin livraison commande negocier salon pedido margen almacen negociar entrega
    proveedores feria
    invoice quote client pricing leads pipeline stock wholesale tender
    kundentermin rabatt lieferschein ausschreibung marketing
    client commercial remise
    cliente ventas descuento licitacion monterrey`,
  social: `party friend dinner barbecue gathering guest neighbor neighbour hangout invite reunion club drinks pub beer lads hike
    dog park mate gossip rumour terrace tent choir lunch bonfire bakes quilt
    party freunde freundin nachbar nachbarin grillen gast verein bier wein feier kneipe treffen biergarten hunde
    fete ami amis copain voisin voisine aperitif terrasse apero biere soiree invite verre barbecue
    fiesta amigo amigos vecino vecina vecinos cerveza cena comunidad invitado barrio cana
    neighbourhood cheers toast buddies pals banter catch birthday picnic campfire gossiping rumours nachbarschaft
    prost kumpel quatschen klatsch geburtstagsfeier picknick lagerfeuer stammtisch vorstand mitglieder
    mitgliederversammlung vereinsheim voisinage sante potes copains ragots anniversaire pique nique asso vecindad
    colegas cotilleo hoguera pena
    coffee brunch housewarming friends neighbours hallway potluck colleague lunchtime
    kaffee nachbar treppenhaus wg mitbewohner mitbewohnerin geburtstag sektempfang einweihungsparty grillen
    apero rose rando copains cafe raclette potes voisins palier
    cumple cumpleanos sorpresa torta asado amigos cafe charla quedada canas
    tequila pints quid cab mates laugh cheers joke gossip divorce bench
    geruchte tratsch scheidung getratscht grusse spaziergang angeblich kneipenabend flossfahrt jungfernfahrt
    bavarder ragot divorce terrasses
    cotillear chisme divorcio copas quedar risas`,
  work: `meeting report office project deadline colleague boss manager team task email presentation agenda schedule shift interview
    workload sprint review standup release budget promotion feedback soundboard workshop overtime
    besprechung buro projekt kollege kollegin chef team aufgabe prasentation schicht bewerbung folien termin uberstunden
    reunion bureau projet collegue chef equipe tache presentation
    reunion oficina proyecto companero jefe equipo tarea presentacion turno
    kickoff retrospective stakeholder roadmap milestone timesheet payroll onboarding handover supervisor coworker
    factory foreman schichtleiter feierabend protokoll tagesordnung abgabe fristen
    vorgesetzte einarbeitung kundigung urlaubsantrag baustelle werkstatt boulot compte rendu delai chantier
    atelier embauche curro jornada contrato
    migration rollback sprint deploy client colleagues boss budget payslip contractor roster spreadsheet quarterly
    schichtubergabe ubergabe schaltschrank paletten halle techniker portier stempeln betriebsrat vorstellungsgesprach gehaltsgesprach
    kunde kundin maquette fournisseur visio dossier rapport planning client clients stagiaire
    presupuesto catalogo cliente clientes feria informe jefa companera empresa plazo entrega
    figures deck headcount accounts colleagues desk pallet
    quartalszahlen dienstplan urlaubsplanung praktikant kantine abteilung fruhschicht spatschicht
    chiffres stagiaires bureautique comptabilite reunions
    recado pedido transportes almacenes nomina oficinas`,
  sports: `match team football soccer tennis basketball baseball coach goal score league training marathon tournament player
    stadium championship swim golf cricket referee wicket batsman innings kilometre climb climbing rope
    spiel mannschaft fussball tor trainer turnier stadion rennen klettern seil verein training
    tournoi joueur equipe entrainement course terrain raquette court
    partido equipo futbol entrenador torneo jugador carrera gol entrenamiento raqueta
    workout squat deadlift jersey offside penalty halftime overtime racket serve volley sprint cyclist cycling
    bike ride skiing snowboard surf yoga pilates standings fitnessstudio kniebeuge elfmeter halbzeit abseits
    schlager aufschlag radfahren rennrad skifahren schwimmen kletter route karabiner liga tabelle
    laufschuhe kilometer intervall sport velo cyclisme natation escalade foulee gimnasio penalti
    descanso ciclismo natacion escalada zapatillas
    rowing bowls swimming fixtures kit trikots tischtennis ruckhand auswartsspiel halle satz
    natation nage bassin piscine licence maillot foot
    futbol padel entreno piscina camiseta liga pachanga
    halbmarathon marathon intervalle lauftreff trainer laufplan startnummer
    hand handball entrainements dossard footing
    entrenamientos dorsal
     intervals bib `,
  politics: `election vote president government parliament minister senate party policy campaign democrat republican congress senator
    politics political wahl regierung bundestag partei minister kanzler election gouvernement ministre parti eleccion gobierno ministro
    partido presidente`,
  literature: `book novel poem poet poetry chapter writer literature fiction shakespeare metaphor buch roman gedicht
    autor literatur kapitel livre roman poeme auteur litterature libro novela poema autor literatura`,
  history: `history war century ancient empire king queen medieval revolution emperor historian geschichte krieg jahrhundert kaiser konig
    mittelalter histoire guerre siecle empire roi romain revolution historia guerra siglo imperio rey
    monument archaeology ruins knight castle dynasty treaty colony viking roman greek egypt bronze burg ritter
    ruine ausgrabung dynastie vertrag kolonie romer antike chateau chevalier fouilles colonie antique ouvrage
    ingenieur castillo caballero ruina excavacion colonia antiguo`,
  architecture: `architect architecture building facade blueprint cathedral skyscraper bridge column arch wall architekt gebaude fassade
    bauplan brucke gewolbe architecte batiment facade pont arche voute pierre arquitecto edificio fachada puente`,
  music: `music song guitar piano concert album singer melody drum violin orchestra playlist choir lyric rehearsal alto schubert
    cello tune pitch musik lied gitarre klavier konzert chor geige orchester musique chanson guitare concert chorale violon
    musica cancion guitarra concierto coro orquesta
    chorus verse bass soprano tenor conductor score rehearse strings trumpet flute saxophone recital vinyl sopran
    dirigent noten proben streicher trompete flote saxophon konzertabend strophe basse chef orchestre
    partition repetition trompette bajo director partitura compas ensayar trompeta flauta
    choir concert advent tenor soprano bass chorprobe adventskonzert basse plakate stimmprobe
    chorale coro villancicos`,
  weather: `weather rain snow forecast storm sunny temperature wind cloud cloudy thunder humid umbrella raining showers
    wetter regen schnee sturm sonne wolken gewitter meteo pluie neige orage soleil nuage
    lluvia nieve tormenta sol nubes
    hail drizzle heatwave frost sunshine celsius degrees hagel nebel nieselregen hitzewelle sonnenschein
    wetterbericht grele brouillard bruine canicule ensoleille degres granizo niebla llovizna helada soleado
    pronostico`,
  news: `news headline newspaper journalist reporter breaking broadcast minister strike resigned nachrichten zeitung tagesschau
    meldung journal actualites informations noticias periodico telediario
    anchor headlines correspondent viewers sprecherin meldungen
    korrespondent schlagzeilen televise presentateur titres correspondant presentador titulares corresponsal
    headlines spokesman unions government minister announced wildfire flood
    regierungssprecher gewerkschaft ministerium unwetter bundeskanzler eilmeldung
    greve syndicats ministre gouvernement manifestation jt bonsoir
    huelga sindicatos gobierno ministra manifestacion sucesos`,
  entertainment: `movie film series actress cinema netflix theater theatre comedy television tv channel viewers
    audience documentary commentary subscribe subtitles film serie kino schauspieler fernsehen krimi kommissar revier folge
    cinema acteur serie theatre television spectacle pelicula serie cine teatro television
    presenter host contestant quiz jackpot finale trailer sitcom cartoon advert advertisement shopping
    remote moderator kandidat quizshow staffel zeichentrick werbung sender fernbedienung zuschauer
    drehbuch tatort kommissarin morder leiche verdachtiger ermittler animateur candidat saison bande annonce
    dessin anime publicite chaine telecommande presentador concursante temporada dibujos anuncio
    podcast episode guest hosting intro livestream booklet
    podcast folge gast sendung emission invite podcast invitado programa
    quiz jackpot wembley gameshow streaming episodes sequel celebrity comedian audience
    kandidatin quizfrage zehntausend antwort leitungen fernseher lauter leiser glotze serien
    telespectateurs jeu telerealite plateau emissions
    concurso telenovela episodio pantalla audiencia`,
  psychology: `anxiety depression therapist psychology psychologist emotion stress trauma mental behavior angst therapeut psychologie
    gefuhle depression anxiete psychologue emotion ansiedad psicologo terapia emocion
    counselling burnout panic therapy session feelings self esteem grief beratung panik gefuhl trauer selbstwert
    burn panique deuil estime panico duelo autoestima`,
  real: `apartment rent landlord tenant realtor property lease mortgage neighborhood estate flat boiler heating plumber
    permit wiring renovation boxes wohnung miete vermieter mieter umzug kisten heizung klempner nebenkosten makler
    appartement loyer proprietaire locataire plombier fuite chaudiere maison demenagement robinet
    piso alquiler casero inquilino vivienda ascensor comunidad obra fontanero portal gotera
    tenancy deposit removal carton furniture mover radiator leak ceiling floor tiles paint carpenter
    electrician builder scaffolding kaution schlussel umzugswagen karton mobel heizkorper wasserschaden
    fliesen streichen tischler elektriker handwerker gerust hausverwaltung eigentumer dachboden keller
    caution cles demenageur radiateur plafond carrelage peinture electricien travaux syndic chauffe robinetterie
    fianza llaves cajas mudanza radiador techo azulejos pintura electricista reforma administrador derrama
    junta
    landlord gutter radiator hallway inspection
    wg kuche schornsteinfeger gez kuhlschrank hausmeister treppenhaus besichtigung nachmieter elektro
    proprio bail fuite eau concierge gouttiere
    fontanero bombilla pasillo portero gotelera vecindario inquilina
    cabinet wardrobe shelf measure corner layout
    schrankwand nische ausmessen einbaukuche
    placard etagere mesurer
    armario hueco medir estanteria salon`,
  design: `design designer font logo color colour layout sketch palette typography prototype figma quilt stars pattern sew lining
    entwurf farbe schrift gestaltung skizze dessin couleur maquette diseno color boceto`,
  family: `mother father mom mum dad sister brother family grandmother grandfather grandma grandpa aunt uncle cousin son daughter wife
    husband parent child children nan mam funeral
    mutter vater mama papa oma opa schwester bruder familie tante onkel sohn tochter eltern geschwister geburtstag
    mere pere maman papa soeur frere famille tante oncle fils fille grand-mere mamie papi
    madre padre mama hermana hermano familia tia tio hijo hija abuela abuelo suegra
    granny grandad stepdaughter stepson twins niece nephew christening inheritance daddy mummy
    omi opi enkel enkelin enkelkind schwager schwagerin schwiegermutter schwiegervater cousine neffe nichte taufe konfirmation
    weihnachtsessen familienfeier verwandtschaft
     papi papy mamy tata tonton cousin cousine neveu niece bapteme enceinte
    champagne gratin marraine parrain
    suegro cunado cunada nieto nieta sobrino sobrina primo prima nochebuena navidad bautizo comunion cordero abuelos padres
     nan gran grandson granddaughter
    schwager schwagerin schwiegereltern enkelkinder
    tante odile cousins
    abuela abuelo yerno nuera primos`,
  economics: `economy economics inflation recession gdp unemployment tariff trade supply demand monetary wirtschaft inflation konjunktur
    zoll economie inflation chomage economia inflacion desempleo`,
  environment: `climate garden tree plant forest recycle recycling pollution environment carbon solar ocean wildlife compost seed
    nature eel river species animals klima garten baum wald umwelt pflanze beet laube hecke natur
    climat jardin arbre foret environnement plante riviere nature clima jardin arbol bosque planta rio naturaleza
    allotment compost gardener roses tomatoes prune seeds hedge lawn bees comfrey
    schrebergarten rasen unkraut bienen gartner tomaten rosen
    potager tondeuse haie abeilles rosiers jardinage
    huerto cesped abejas riego jardinero
    bee hive colony pollen beekeeper
    bienenstock imker artenschutz
    abeille ruche ouvriere colonie varroa miel
    colmena abejas polinizacion`,
};
