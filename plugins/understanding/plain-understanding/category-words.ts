/**
 * Words that indicate the category of a conversation, in English, German, French and Spanish. Lower case and without
 * accents. A word stands for what begins with it and is a little longer; one of six letters or more for compounds that
 * end with it as well. Words of two categories stand in both.
 */
import type { Category } from '../../../core/domain/conversations/categories.ts';

export const CATEGORY_WORDS: Readonly<Partial<Record<Category, string>>> = {
  personal: `diary journal myself habit routine wardrobe haircut groceries grocery shopping errand recorder list memo note domestic
    kitchen cook cooking onion garlic oven butter recipe flour milk bread eggs rice soup salt pepper tomato potato cheese
    subaru brake tires garage laundry dishes receipt shoes trousers jacket tailor suit fitting piano
    tagebuch gedanken einkauf einkaufen rezept backen kochen kuchen teig ofen zwiebel knoblauch mehl zucker butter milch eier ente suppe
    topf pfanne salz pfeffer kartoffel werkstatt reifen notiz moebel mobel schrank regal sofa kasse quittung schuhe
    journal carnet courses marche recette cuisine four beurre farine oeufs oignon tomate fromage legumes panier fraise chaussure garagiste
    diario compra receta cocina horno mantequilla harina huevos cebolla tortilla patata aceite sarten ajo queso mercado lista zapatos
    saucepan stove grill simmer boil dough yeast bake bakery spices herbs vegetables supermarket till checkout
    vacuum cleaning dishwasher fridge freezer sewing knitting zipper sleeve mirror perfume shaver backofen herd
    ruhren pfeffern braten kochtopf gewurz gemuse supermarkt waschmaschine wasche spulmaschine kuhlschrank putzen
    friseur selbstgesprach merkzettel erinnerung vorsatz casserole poele gateau mijoter supermarche lessive
    coiffeur vaisselle frigo poivre legume olla guiso supermercado lavadora peluquero nevera pimienta verdura`,
  education: `school teacher class classroom homework exam lesson student university college course lecture tutor study semester
    professor curriculum campus kindergarten degree grade thesis chapter essay pupil fraction math algebra derivation equation quiz
    schule lehrer lehrerin unterricht klasse hausaufgabe prufung klausur studium universitat professor vorlesung seminar note zeugnis
    elternabend schuler mathe diktat referat aufsatz rechnen lernen semester dozent
    ecole lycee college professeur cours devoirs examen etudiant universite lecon classe eleve maitresse rentree
    escuela colegio profesor profesora clase deberes examen universidad alumno asignatura leccion instituto
    dissertation lecturer diploma revision tuition headmaster principal worksheet textbook vocabulary grammar
    spelling kurs abitur hausarbeit nachhilfe lehrbuch vokabeln schulleiter klassenfahrt ferien zeugnisse
    elternsprechtag dozentin kommilitone memoire soutenance lyceen collegien proviseur bulletin dictee conjugaison
    tesis apuntes bachillerato selectividad maestro maestra notas trimestre redaccion`,
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
    migraine fisioterapeuta analisis sangre vacuna antibiotico inflamacion herida rehabilitacion ejercicios`,
  finance: `money bank loan mortgage savings invest investment stock tax interest credit debt payment salary pension insurance
    budget account dividend portfolio bitcoin bill deposit broker transfer iban fees percent policy premium claim payslip refund
    geld bank kredit hypothek sparkonto aktien steuer zinsen gehalt rente versicherung konto uberweisung gebuhren kreditkarte depot saule
    schaden selbstbeteiligung police beitrag rate tilgung fonds sparen anlage
    argent banque credit pret epargne impot salaire retraite assurance compte virement facture frais hypotheque
    dinero banco credito hipoteca ahorro impuesto sueldo seguro cuenta transferencia factura comision prestamo
    mortgages lender fund shares bond inflation currency exchange overdraft statement cash receipt accountant zins
    kontostand dispo uberziehung aktie steuererklarung finanzamt steuerberater bausparer darlehen laufzeit
    festgeld abbuchung lastschrift interets prelevement decouvert placement bourse declaration fisc taux
    mensualite intereses hipotecario inversion acciones hacienda declaracion comisiones tarjeta`,
  legal: `lawyer court contract law legal judge lawsuit attorney trial clause liability patent copyright sue evidence verdict notary
    anwalt gericht vertrag gesetz recht klage richter notar haftung paragraf paragraph bgb urteil anfechtung privatrecht schuldner glaubiger
    avocat tribunal contrat loi juge notaire proces
    abogado tribunal contrato ley juez notario demanda juicio
    solicitor barrister plaintiff defendant testament inheritance custody divorce statute rechtsanwalt klager
    beklagter erbe sorgerecht scheidung klausel anspruch willenserklarung gesetzbuch kaufvertrag heritage garde
    plaignant testamento herencia divorcio custodia clausula`,
  philosophy: `philosophy ethics moral morality existence metaphysics socrates plato kant nietzsche stoic philosophie ethik sein
    existenz filosofia etica morale existentialisme`,
  spiritual: `god prayer pray church faith bible temple mosque meditation soul spiritual blessing sermon chapel priest hymn
    gott gebet kirche glaube bibel pfarrer gottesdienst messe seele segen dieu priere eglise foi priere cure dios oracion iglesia misa fe`,
  science: `science scientist experiment physics chemistry biology laboratory molecule atom theory hypothesis telescope planet gene
    quantum research moon tide species bacteria yeast transmitter resonate enzyme
    wissenschaft forschung physik chemie biologie labor versuch molekul atom theorie planet bakterien
    science recherche physique chimie biologie laboratoire molecule theorie planete bacterie
    ciencia investigacion fisica quimica biologia laboratorio molecula teoria planeta
    astronomy galaxy gravity electron evolution fossil climate ocean fish whale cell protein microscope astronomie
    galaxie schwerkraft elektron klima ozean zelle eiweiss mikroskop gravite fossile climat cellule proteine
    astronomia galaxia gravedad evolucion fosil clima oceano celula proteina`,
  entrepreneurship: `startup founder pitch investor venture bootstrap accelerator entrepreneur seed valuation grunder grunden
    unternehmer fondateur investisseur emprendedor fundador inversor`,
  parenting: `baby toddler diaper bedtime daycare nanny pregnant pregnancy stroller parenting breastfeeding nappy nappies mommy mummy
    kid kids child homework playground story teddy pyjamas tooth daddy lunchbox swimming
    baby kleinkind windel kita kindergarten kinderwagen schwanger mama papa kind kinder geburtstag spielplatz gutenacht fieber maus einladungen
    bebe couche creche nounou enceinte enfant maman papa biberon doudou
    bebe panal guarderia embarazada nino nina hijo hija mama papa
    daughter babysitter crib potty tantrum teething weaning pushchair bedtimes naptime playdate cuddle lullaby
    tochterchen sohnchen schlafenszeit einschlafen kuscheltier schnuller flaschchen windeln krabbeln
    gutenachtgeschichte taufe patentante dodo calin histoire soir gouter maternelle cuento dormir chupete ninera
    cuna merienda `,
  romantic: `love date boyfriend girlfriend romantic kiss wedding marry valentine anniversary fiance engagement verliebt freundin
    freund hochzeit kuss heiraten liebe amour amoureux mariage copine fiancailles novio novia boda beso amor`,
  travel: `train station ticket flight airport hotel trip travel journey passport luggage vacation holiday plane bus airline tourist
    itinerary suitcase booking visa gate sleeper conductor platform taxi motorway exit toll petrol drive driving embassy consulate
    bahn bahnhof fahrkarte flug flughafen hotel reise pass koffer urlaub zug fahrschein gleis schaffner anschluss zimmer gepack
    train gare billet vol aeroport hotel voyage passeport valise vacances avion quai correspondance
    tren estacion billete vuelo aeropuerto hotel viaje pasaporte maleta vacaciones habitacion avion playa recepcion reserva desayuno
    terminal departure arrival boarding reservation hostel balcony sightseeing museum ferry cruise
    border customs rental hire abflug ankunft reservierung zimmerschlussel balkon rundreise stadtplan fahre
    grenze zoll mietwagen verspatung bahnsteig autobahn stau umsteigen chambre balcon visite frontiere douane
    voiture retard autoroute peage sejour reservado excursion mapa ferri frontera aduana alquiler retraso
    autopista peaje estancia`,
  inspiration: `inspire inspiration dream motivation motivate courage gratitude grateful believe passion mut dankbar traum
    inspiration motivation reve gratitude inspiracion motivacion sueno gratitud`,
  technology: `computer software app code server laptop phone internet program programming algorithm database robot website api browser
    bug deploy gpu ai battery device queue timeout worker typescript python merge repository branch pull compile parser library
    maintainer release script proxy certificate import microphone
    rechner programm datenbank handy netz fehler datei bildschirm drucker
    ordinateur logiciel serveur telephone programme fichier ecran imprimante
    ordenador programa servidor telefono archivo pantalla impresora
    programmer developer debugging terminal frontend backend commit docker linux windows install password
    login wifi router cable keyboard screen smartphone apps cloud chip entwickler programmierer fehlermeldung
    quellcode passwort anmeldung installieren kabel tastatur netzwerk rechenzentrum ordner developpeur
    passe clavier reseau bogue desarrollador contrasena actualizacion teclado `,
  business: `customer client sales market revenue company business product profit supplier strategy brand invoice partner deal quarter
    order offer quote contract kunde kunden angebot auftrag umsatz firma lieferant rechnung vertrieb gewinn muster geschaft
    entreprise vente produit fournisseur devis facture chiffre societe
    cliente empresa venta producto proveedor presupuesto negocio factura
    delivery margin wholesale retail purchase procurement negotiate shipment warehouse forecast
    turnover lieferung marge grosshandel einkaufspreis verhandeln konditionen bestellung kundin
    geschaftsfuhrer messe liefertermin livraison commande negocier salon pedido margen almacen negociar entrega
    proveedores feria`,
  social: `party friend dinner barbecue gathering guest neighbor neighbour hangout invite reunion club drinks pub beer wine round lads hike
    dog park mate gossip rumour terrace lake tent choir lunch bonfire bakes quilt
    party freunde freundin nachbar nachbarin grillen gast verein bier wein feier kneipe treffen biergarten hunde
    fete ami amis copain voisin voisine aperitif terrasse apero biere soiree invite verre barbecue
    fiesta amigo amigos vecino vecina vecinos cerveza cena comunidad invitado barrio cana
    neighbourhood cheers toast buddies pals banter catch birthday picnic campfire gossiping rumours nachbarschaft
    prost kumpel quatschen klatsch geburtstagsfeier picknick lagerfeuer stammtisch vorstand mitglieder
    mitgliederversammlung vereinsheim voisinage sante potes copains ragots anniversaire pique nique asso vecindad
    colegas cotilleo hoguera pena`,
  work: `meeting report office project deadline colleague boss manager team task email presentation agenda schedule shift interview
    workload sprint review standup release budget ticket promotion feedback soundboard workshop overtime raise
    besprechung buro projekt kollege kollegin chef team aufgabe prasentation dienst schicht bewerbung folien termin uberstunden
    reunion bureau projet collegue chef equipe tache presentation
    reunion oficina proyecto companero jefe equipo tarea presentacion turno
    kickoff retrospective stakeholder roadmap milestone timesheet payroll onboarding handover supervisor coworker
    factory machine foreman kunde schichtleiter feierabend protokoll tagesordnung abgabe fristen
    vorgesetzte einarbeitung kundigung urlaubsantrag baustelle werkstatt boulot compte rendu delai chantier
    atelier embauche curro jornada taller contrato`,
  sports: `game match team football soccer tennis basketball baseball coach goal score league training marathon tournament player
    stadium championship swim golf cricket referee pitch wicket batsman innings overs kilometre pace race running climb climbing rope
    spiel mannschaft fussball tor trainer turnier stadion laufen lauf rennen klettern seil verein training
    tournoi joueur equipe entrainement course but terrain raquette court
    partido equipo futbol entrenador torneo jugador carrera gol entrenamiento raqueta
    workout squat deadlift jersey offside penalty halftime overtime racket serve volley sprint cyclist cycling
    bike ride skiing snowboard surf yoga pilates standings fitnessstudio kniebeuge elfmeter halbzeit abseits
    schlager aufschlag radfahren rennrad skifahren schwimmen kletter route sicherung karabiner liga tabelle
    laufschuhe kilometer intervall salle sport temps velo cyclisme natation escalade foulee gimnasio penalti
    descanso ciclismo natacion escalada zapatillas`,
  politics: `election vote president government parliament minister senate party policy campaign democrat republican congress senator
    politics political wahl regierung bundestag partei minister kanzler election gouvernement ministre parti eleccion gobierno ministro
    partido presidente`,
  literature: `book novel poem poet poetry author chapter writer literature fiction story shakespeare metaphor buch roman gedicht
    autor literatur kapitel livre roman poeme auteur litterature libro novela poema autor literatura`,
  history: `history war century ancient empire king queen medieval revolution emperor historian geschichte krieg jahrhundert kaiser konig
    mittelalter histoire guerre siecle empire roi romain revolution historia guerra siglo imperio rey
    monument archaeology ruins knight castle dynasty treaty colony viking roman greek egypt bronze burg ritter
    ruine ausgrabung dynastie vertrag kolonie romer antike chateau chevalier fouilles colonie antique ouvrage
    ingenieur castillo caballero ruina excavacion colonia antiguo`,
  architecture: `architect architecture building facade blueprint cathedral skyscraper bridge column arch wall architekt gebaude fassade
    bauplan brucke gewolbe architecte batiment facade pont arche voute pierre arquitecto edificio fachada puente`,
  music: `music song guitar piano concert band album singer melody drum violin orchestra playlist choir lyric rehearsal alto schubert
    cello tune pitch musik lied gitarre klavier konzert chor geige orchester musique chanson guitare concert chorale violon
    musica cancion guitarra concierto coro orquesta
    chorus verse bass soprano tenor conductor score rehearse strings trumpet flute saxophone recital vinyl sopran
    dirigent noten proben streicher trompete flote saxophon konzertabend strophe basse chef orchestre
    partition repetition trompette bajo director partitura compas ensayar trompeta flauta`,
  weather: `weather rain snow forecast storm sunny temperature wind cloud cloudy thunder humid umbrella raining showers
    wetter regen schnee sturm sonne wolken gewitter kalt meteo pluie neige orage soleil nuage froid
    tiempo lluvia nieve tormenta sol nubes frio
    hail drizzle heatwave frost sunshine celsius degrees outlook hagel nebel nieselregen hitzewelle sonnenschein
    grad wetterbericht grele brouillard bruine canicule ensoleille degres granizo niebla llovizna helada soleado
    grados pronostico`,
  news: `news headline newspaper journalist reporter breaking broadcast minister strike resigned residents nachrichten zeitung tagesschau
    meldung journal actualites informations noticias periodico telediario
    anchor headlines weather forecast correspondent parliament viewers sprecherin meldungen
    korrespondent schlagzeilen televise presentateur titres correspondant presentador titulares corresponsal`,
  entertainment: `movie film series show actor actress cinema netflix episode theater theatre comedy television tv channel viewers
    audience documentary commentary subscribe subtitles film serie kino schauspieler fernsehen krimi kommissar revier folge
    cinema acteur serie theatre television spectacle pelicula actor serie cine teatro television
    presenter host contestant quiz jackpot finale trailer sitcom cartoon advert advertisement shopping
    remote moderator kandidat quizshow staffel zeichentrick werbung sender fernbedienung zuschauer
    drehbuch tatort kommissarin morder leiche verdachtiger ermittler animateur candidat saison bande annonce
    dessin anime publicite chaine telecommande presentador concursante temporada dibujos anuncio  `,
  psychology: `anxiety depression therapist psychology psychologist emotion stress trauma mental behavior angst therapeut psychologie
    gefuhle depression anxiete psychologue emotion ansiedad psicologo terapia emocion
    counselling burnout panic therapy session feelings self esteem grief beratung panik gefuhl trauer selbstwert
    burn panique deuil estime panico duelo autoestima`,
  real: `apartment rent landlord tenant realtor property lease mortgage square neighborhood estate flat boiler heating plumber wall
    permit wiring renovation moving boxes agent wohnung miete vermieter mieter haus umzug kisten heizung klempner nebenkosten makler
    appartement loyer proprietaire locataire plombier fuite chaudiere maison demenagement robinet
    piso alquiler casero inquilino casa vivienda ascensor comunidad obra fontanero portal gotera
    tenancy deposit removal carton furniture mover radiator leak ceiling floor tiles paint carpenter
    electrician builder scaffolding kaution schlussel umzugswagen karton mobel heizkorper wasserschaden 
    fliesen streichen tischler elektriker handwerker gerust hausverwaltung eigentumer dachboden keller
    caution cles demenageur radiateur plafond carrelage peinture electricien travaux syndic chauffe robinetterie
    fianza llaves cajas mudanza radiador techo azulejos pintura electricista reforma administrador derrama
    presidente junta`,
  design: `design designer font logo color colour layout sketch palette typography prototype figma quilt stars pattern sew lining
    entwurf farbe schrift gestaltung skizze dessin couleur maquette diseno color boceto`,
  family: `mother father mom mum dad sister brother family grandmother grandfather grandma grandpa aunt uncle cousin son daughter wife
    husband parent kid child children nan mam funeral
    mutter vater mama papa oma opa schwester bruder familie tante onkel sohn tochter eltern geschwister geburtstag
    mere pere maman papa soeur frere famille tante oncle fils fille grand-mere mamie papi
    madre padre mama hermana hermano familia tia tio hijo hija abuela abuelo suegra`,
  economics: `economy economics inflation recession gdp unemployment tariff trade supply demand monetary wirtschaft inflation konjunktur
    zoll economie inflation chomage economia inflacion desempleo`,
  environment: `climate garden tree plant forest recycle recycling pollution environment carbon solar ocean wildlife compost flower seed
    nature eel river species animals klima garten baum wald umwelt pflanze beet laube hecke natur
    climat jardin arbre foret environnement plante riviere nature clima jardin arbol bosque medio planta rio naturaleza`,
};
